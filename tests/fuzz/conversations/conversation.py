# SPDX-License-Identifier: MIT
"""One call of dlock through the relay, and what is wrong with how it went."""
import glob
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import time

from mutate import Mutator
from relay import Plan, Relay

WAIT = ["-w", "2"]
TTL = ["--ttl", "1s"]  # the shortest; it is renewed each third of it
COMMAND = ["sh", "-c", 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec sleep "$1"', "{file}"]


def a_run(*options, seconds="0.1", name="{name}", wait=WAIT):
    return ["run", *wait, *TTL, "-k", "100ms", *options, name, "--", *COMMAND, seconds]


# What is there before, and what is called. Before: nothing; "held": a lock by acquire, for a second;
# "running": a run of a second; "waited": the same, and one that waits; "owned": a lock by acquire,
# whose owner the call is; "noted": a success.
KINDS = {
    "run": ("", a_run()),
    "run and renew": ("", a_run(seconds="1.2")),
    "run and renew, more said": ("", ["-vv", "--log-format", "json", *a_run(seconds="0.8")]),
    "run beside a lease": ("held", a_run()),
    "run -n": ("held", a_run(wait=["-n"])),
    "run behind a run": ("running", a_run()),
    "run in a line": ("waited", a_run()),
    "run of a slot": ("", a_run("--slots", "2", seconds="0.5")),
    "run of a busy slot": ("held", a_run("--slots", "2")),
    "run of a reader": ("", a_run("-s", seconds="0.5")),
    "run of a writer": ("running", a_run("-x", seconds="0.5")),
    "run of two names": ("", a_run("--and", "{name}-2", seconds="0.5")),
    "run of two names behind a run": ("running", a_run("--and", "{name}-2")),
    "run once": ("", a_run("--once-per", "1h")),
    "run once more": ("noted", a_run("--once-per", "1h")),
    "run with a least time": ("", a_run("--min-hold", "2s")),
    "run with a most time": ("", a_run("--max-hold", "600ms", seconds="2")),
    "run of one lease": ("", a_run("--no-renew", seconds="2")),
    "run that is nested": ("owned", a_run(seconds="0.5")),
    "acquire": ("", ["acquire", *WAIT, "--ttl", "2s", "{name}"]),
    "acquire --json behind a run": ("running",
                                    ["acquire", "--json", *WAIT, "--ttl", "2s", "{name}"]),
    "acquire of two": ("", ["acquire", *WAIT, "--ttl", "2s", "{name}", "{name}-2"]),
    "renew": ("owned", ["renew", "--ttl", "2s", "{name}"]),
    "renew --every": ("owned", ["renew", "--ttl", "1s", "--every", "300ms", "--while", "{pid}",
                                "{name}"]),
    "release": ("owned", ["release", "{name}"]),
    "wait": ("running", ["wait", *WAIT, "{name}"]),
    "wait for a lease": ("held", ["wait", *WAIT, "{name}"]),
    "inspect": ("waited", ["inspect", "{name}"]),
    "inspect --json": ("waited", ["inspect", "--json", "{name}", "{name}-2"]),
    "inspect of nothing": ("", ["inspect", "-q", "{name}"]),
    "list": ("held", ["list", "{name}*"]),
    "list --json": ("waited", ["list", "--json"]),
    "doctor": ("", ["doctor"]),
    "doctor of a name": ("running", ["doctor", "--json", "{name}"]),
    "force-release": ("running", ["force-release", "-y", "{name}"]),
    "force-release of a lease": ("held", ["force-release", "-y", "{name}"]),
    "force-release --now": ("waited", ["force-release", "-y", "--now", "{name}"]),
    "forget": ("noted", ["forget", "{name}"]),
}
# Of dlock(1), EXIT STATUS: 124 only where a limit was given, 125 never.
FINE = {0, 1, 64, 69, 75, 77, 78, 79}
LIMITED = {"run with a most time", "run of one lease"}
# They wait for a lease to end, and how long it lasts is the server's word.
SERVERS_TIME = {"force-release", "force-release of a lease"}
LONGEST = 7.0  # connecting, -w, the longest command, stopping it, the release
SLACK = float(os.environ.get("DLOCK_FUZZ_SLACK", "8"))  # sanitizers, on a busy machine
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
WARNED = "ASan doesn't fully support makecontext/swapcontext"  # see tests/run.bash


class Conversation:
    def __init__(self, protocol, port, dlock, folder, seed, lengths, kind=None, at=None):
        self.protocol, self.port, self.dlock, self.seed = protocol, port, dlock, seed
        self.random = random.Random(seed)
        drawn = self.random.choice(sorted(lengths))
        self.kind = kind or drawn
        self.before, self.words = KINDS[self.kind]
        self.name = f"f{seed % 10**12}"
        self.folder = os.path.join(folder, self.name)
        self.file = os.path.join(self.folder, "in")
        drawn = self.random.randint(1, max(lengths[self.kind], 1))
        self.at = drawn if at is None else at
        self.alarm = self.random.uniform(0.1, 2) if self.random.random() < 0.1 and self.at else None
        self.mutator = Mutator(self.random, protocol.KINDS, protocol.errors)
        self.plan = Plan(protocol, self.random, self.mutator, self.at)
        self.helpers, self.holds = [], None
        self.wrong, self.late, self.said, self.status, self.took = [], [], "", None, 0.0

    # --- what is there before ------------------------------------------------------------------

    def environment(self, port):
        options = f"exitcode=99:log_path={self.folder}/report:disable_coredump=0"
        known = {"PATH": os.environ["PATH"], "HOME": self.folder,
                 "DLOCK_URL": self.protocol.url(port),
                 "ASAN_OPTIONS": options + ":detect_leaks=0:allocator_may_return_null=1",
                 "UBSAN_OPTIONS": options + ":print_stacktrace=1"}
        return known | ({"DLOCK_HOLDS": self.holds} if self.holds else {})

    def direct(self, *words, port=None):
        return subprocess.Popen([self.dlock, *words], env=self.environment(port or self.port),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)

    def prepare(self, port):
        """What is done at `port` counts for the store that dlock talks to there."""
        os.mkdir(self.folder)
        if self.before in ("held", "owned"):
            slots = ["--slots", "2"] if "slot" in self.kind else []
            ttl = "1s" if self.before == "held" else "3s"
            told, _ = self.direct("acquire", "-n", "--ttl", ttl, *slots, self.name,
                                  port=port).communicate()
            if self.before == "owned":
                exported = dict(word.split("=", 1) for word in shlex.split(told) if "=" in word)
                self.holds = exported.get("DLOCK_HOLDS")
        if self.before in ("running", "waited"):
            started = self.folder + "/before"
            self.helpers.append(self.direct("run", "--ttl", "2s", self.name, "--", "sh", "-c",
                                            'touch "$0"; exec sleep 0.7', started))
            end = time.monotonic() + 5
            while not os.path.exists(started) and time.monotonic() < end:
                time.sleep(0.01)
        if self.before == "waited":
            self.helpers.append(self.direct("run", "-w", "3", "--ttl", "2s", self.name, "true"))
        if self.before == "noted":
            self.direct("run", "--ttl", "2s", "--once-per", "1h", self.name, "true").communicate()

    def command(self):
        values = {"name": self.name, "file": self.file,
                  "pid": self.helpers[-1].pid if self.helpers else 0}
        return ["--connect-timeout", "1s", *(word.format(**values) for word in self.words)]

    # --- the call ------------------------------------------------------------------------------

    def play(self):
        relay = Relay(self.protocol, self.port, self.plan)
        try:
            self.prepare(relay.port)
            if "{pid}" in self.words:
                self.helpers.append(subprocess.Popen(["sleep", "0.8"]))
            self.plan.begin()
            with open(self.folder + "/out", "wb") as out:
                start = time.monotonic()
                process = subprocess.Popen([self.dlock, *self.command()], stdout=out, stderr=out,
                                           env=self.environment(relay.port),
                                           stdin=subprocess.DEVNULL)
                self.wait(process, start)
        finally:
            relay.close()
            for helper in self.helpers:
                helper.kill()
                helper.communicate()
        self.look()
        shutil.rmtree(self.folder, ignore_errors=True)
        return self

    def ended(self, process, end):
        try:
            self.status = process.wait(max(0.01, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def wait(self, process, start):
        told = False
        if self.alarm and not self.ended(process, start + self.alarm):
            process.send_signal(signal.SIGTERM)
            told = True
            if not self.ended(process, time.monotonic() + SLACK):
                self.late.append(f"ran {SLACK:.0f} s after SIGTERM")
        elif not self.ended(process, start + LONGEST + SLACK):
            if self.kind not in SERVERS_TIME:
                self.late.append(f"ran longer than {LONGEST + SLACK:.0f} s")
            process.send_signal(signal.SIGTERM)
            told = True
            if not self.ended(process, time.monotonic() + SLACK):
                self.late.append(f"ran {SLACK:.0f} s after SIGTERM")
        if self.status is None:
            process.kill()
            process.wait()
        self.took = time.monotonic() - start
        fine = FINE | ({124} if self.kind in LIMITED else set()) | ({-15, 143} if told else set())
        if self.status == -9:
            # The guard has killed the command, and dlock dies as its command did. That is 79 unless
            # dlock was not scheduled for -k (100 ms): it read the clock, the guard killed, and an
            # answer to the renewal still counted as in time. Or the command got no time for its TERM.
            self.late.append("ended by SIGKILL, as its command")
        elif self.status is not None and self.status not in fine:
            self.wrong.append(f"status {self.status}")
        if self.status is not None and self.is_running():
            self.wrong.append("the command ran when dlock had ended")

    def is_running(self):
        """The command; it ends before dlock does."""
        try:
            with open(self.file, encoding="ascii") as file:
                pid = int(file.read())
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    def look(self):
        with open(self.folder + "/out", encoding="utf-8", errors="backslashreplace") as out:
            self.said = out.read()
        if raw := CONTROLS.search(self.said):
            self.wrong.append(f"wrote {raw[0]!r} that a terminal obeys")
        for report in glob.glob(self.folder + "/report.*"):
            with open(report, encoding="utf-8", errors="replace") as file:
                lines = [line for line in file.read().splitlines() if WARNED not in line]
            text = "\n".join(lines)
            if "ERROR" in text or "runtime error" in text:
                self.wrong.append("a sanitizer's report")
                self.said += "\n" + text[:5000]
        for word in ("internal error", "terminate called", "Assertion"):
            if word in self.said:
                self.wrong.append(f'said "{word}"')
        self.wrong += [f"the fuzz itself: {text[:2000]}" for text in self.plan.wrong]

    def finding(self):
        words = " ".join(map(shlex.quote, self.command()))
        protocol = self.protocol.__name__.split("_", maxsplit=1)[0]
        return (f"FOUND {protocol}: {'; '.join(self.wrong + self.late)}\n"
                f"  again: ./dev fuzz conversations {protocol} --seed {self.seed} --at {self.at}\n"
                f"  {self.kind}: dlock {words}\n"
                f"  changed: {'; '.join(self.mutator.told)[:2000]}\n"
                f"  status {self.status} after {self.took:.1f} s, said:\n"
                + "\n".join("    " + line for line in self.said[-6000:].splitlines()))
