#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A runner of GitHub Actions, as far as packaging/action needs one.

    action_runner.py ACTION_FOLDER <WORKFLOW

Runs the steps of the first job, then the posts of its actions in reverse order, and exits with 0, 1 or
130 (cancelled). An action is ACTION_FOLDER, whatever the path before its @; those of "actions/" are left
out. Prints what a job's log would have: lines that are commands as "[kind] text". Leaves in the folder
where it runs: env, state and outputs of each step (JSON), and every file that an action wrote for it.
INT cancels the job: the process of the step gets INT, after 7.5 s TERM, after 2.5 s more KILL. What
runs always() is not disturbed.
"""
import json
import os
import re
import signal
import subprocess
import sys
import threading

try:
    import yaml
except ImportError:
    sys.path.append("/usr/lib/python3/dist-packages")  # Debian's, for the python of a version manager
    import yaml


def variables(path):
    """What a file of the runner says: NAME=VALUE, or NAME<<END, lines, END."""
    found, lines = {}, iter(open(path, newline="").read().split("\n"))
    for line in lines:
        if not line:
            continue
        name, mark, value = re.match(r"(.*?)(=|<<)(.*)$", line).groups()
        if mark == "<<":
            end, value = value, []
            for line in lines:
                if line == end:
                    break
                value.append(line)
            else:
                raise ValueError(f"no end of {name}")
            value = "\n".join(value)
        found[name] = value
    return found


def unescape(text):
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


class Job:
    def __init__(self, folder, job):
        self.folder, self.steps, self.env = folder, job["steps"], {}
        self.action = yaml.safe_load(open(folder + "/action.yml"))
        self.outputs, self.states, self.posts, self.process = {}, {}, [], None
        self.failed = self.cancelled = False
        self.env = {name: self.expand(value) for name, value in job.get("env", {}).items()}
        self.printing = threading.Lock()

    def expand(self, text):
        def value(match):
            kind, *path = match[1].split(".")
            if kind == "secrets":
                return os.environ["SECRET_" + path[0]]
            return self.outputs[path[0]][path[2]]  # steps.ID.outputs.NAME
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", value, str(text))

    def say(self, line):
        with self.printing:
            print(line, flush=True)

    def read(self, stream, state, may_stop):
        """Prints a stream of a step and obeys its commands. Of the streams of a process the one may be
        read before the other; so what stops commands on one stops none on the other."""
        stopped = None
        for line in stream:
            line = line.rstrip("\n")
            new = re.match(r"\s*::([\w-]+)(?: ([^:]*))?::(.*)", line)
            old = re.search(r"##\[([\w-]+)(?: ([^\]]*))?\](.*)", line)
            if stopped:
                if line.strip() == f"::{stopped}::":
                    stopped = None
                else:
                    self.say(line)
            elif not new and not old:
                self.say(line)
            else:
                kind, properties, text = (new or old).groups()
                if kind == "stop-commands":
                    stopped = text if may_stop else None
                elif kind == "save-state":
                    state[re.search("name=([^,;]*)", properties)[1]] = text
                else:
                    self.say(f"[{kind}] {unescape(text)}")

    def run(self, number, name, words, extra, always=False):
        state = self.states.setdefault(number, {})
        env = {**os.environ, **self.env, **extra, **{"STATE_" + k: v for k, v in state.items()}}
        files = {}
        for file in "ENV", "STATE", "OUTPUT":
            env["GITHUB_" + file] = files[file] = os.path.abspath(f"{number}.{name}.{file}")
            open(files[file], "w").close()
        process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, text=True, errors="replace",
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.process = None if always else process
        errors = threading.Thread(target=self.read, args=(process.stderr, state, False))
        errors.start()
        self.read(process.stdout, state, True)
        errors.join()
        status, self.process = process.wait(), None
        self.env.update(variables(files["ENV"]))
        state.update(variables(files["STATE"]))
        outputs = self.outputs.setdefault(self.steps[number].get("id", str(number)), {})
        outputs.update(variables(files["OUTPUT"]))
        self.say(f"{name} {number}: {status}")
        self.failed = self.failed or status != 0

    def cancel(self, *_):
        self.cancelled, process = True, self.process
        if process:
            process.send_signal(signal.SIGINT)
            for after, number in (7.5, signal.SIGTERM), (10, signal.SIGKILL):
                timer = threading.Timer(after, process.send_signal, [number])
                timer.daemon = True
                timer.start()

    def main(self):
        for number, step in enumerate(self.steps):
            always = step.get("if") == "always()"
            if (self.failed or self.cancelled) and not always:
                self.say(f"skipped {number}")
            elif "run" in step:
                self.run(number, "run", ["bash", "-e", "-c", self.expand(step["run"])], {}, always)
            elif not step["uses"].startswith("actions/"):
                given = step.get("with", {})
                assert set(given) <= set(self.action["inputs"]), given
                inputs = {"INPUT_" + name.upper(): self.expand(given.get(name, about.get("default", "")))
                          for name, about in self.action["inputs"].items()}
                self.posts.insert(0, (number, inputs))
                self.stage(number, "main", inputs)
        for number, inputs in self.posts:
            always = self.action["runs"]["post-if"] == "always()"
            if always or not (self.failed or self.cancelled):
                self.stage(number, "post", inputs, always)
        json.dump({"env": self.env, "outputs": self.outputs, "states": self.states}, open("job.json", "w"))
        sys.exit(130 if self.cancelled else 1 if self.failed else 0)

    def stage(self, number, name, inputs, always=False):
        self.run(number, name, ["node", f"{self.folder}/{self.action['runs'][name]}"], inputs, always)


job = Job(sys.argv[1], next(iter(yaml.safe_load(sys.stdin)["jobs"].values())))
signal.signal(signal.SIGINT, job.cancel)
job.main()
