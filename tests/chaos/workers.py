# SPDX-License-Identifier: MIT
"""The clients of a chaos run: each takes a lock, runs a section under it, and begins anew, over a
network path of its own. What they did is left in one folder, four files a run."""
import os
import random
import signal
import subprocess
import threading
import time

from history import SECOND, Run
from monitor import boot_ns
from way import group_of, kill_group


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def guard_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            children = file.read().split()
        for child in children:
            with open(f"/proc/{child}/comm", encoding="utf-8") as file:
                if file.read().strip() == "lease-guard":
                    return int(child)
    except OSError:
        pass
    return 0


def read_notes(path):
    """The lines of a section: (time, pid, words). The last one may be cut off by a KILL."""
    try:
        with open(path, encoding="utf-8") as file:
            rows = [line.split() for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []
    return sorted((int(r[0]), int(r[2]), r[3:]) for r in rows if len(r) > 3)


class Worker(threading.Thread):
    def __init__(self, number, plan, port):
        super().__init__(daemon=True)
        self.number, self.plan, self.port = number, plan, port
        self.random = random.Random(f"{plan.seed}:worker{number}")
        self.runs, self.now = [], (None, None)   # the run and its process, read in one
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.is_set():
            self.one_run()
            # Sometimes at once, so that the same client comes back first.
            refused = self.runs[-1].status in (69, 77)
            time.sleep(0.2 if refused else self.random.choice((0, 0, 0.005, 0.03, 0.1)))

    def one_run(self):
        plan, rng = self.plan, self.random
        choice = plan.drawer.draw(rng)
        run = Run(f"w{self.number}-{len(self.runs)}", ",".join(choice.names), self.number)
        run.asked, run.renews, run.nested = choice.asked, choice.renews, bool(choice.inner)
        run.max_hold, run.min_hold = int(choice.max_hold * SECOND), int(choice.min_hold * SECOND)
        run.warn, run.one_of = plan.warn(self.number), choice.one_of
        base = os.path.join(plan.folder, "runs", run.id)
        words = [*plan.dlock, "run", "-v", "--log-format", "json",
                 "--ttl", f"{plan.terms.ttl // 1000000}ms",
                 "-k", f"{plan.terms.kill_after // 1000000}ms",
                 "--url", f"redis://127.0.0.1:{self.port}", "-w", f"{rng.uniform(1, 5):.2f}s"]
        words += ["--max-waiters", "2"] if rng.random() < 0.1 else []
        words += ["--on-lost", "warn"] if run.warn else []
        section = self.section(run, base)
        if choice.inner:
            section = [*words, *choice.inner, "--", *section]
        words += ["--result-file", base + ".result"] if plan.has_result_file else []
        words += [*choice.limits, *choice.outer, "--", *section]
        with open(base + ".log", "wb") as log:
            run.start = boot_ns()
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       start_new_session=True, env=plan.environment)
        run.pid = process.pid
        self.runs.append(run)
        self.now = run, process
        run.status = process.wait()
        run.end = boot_ns()
        self.now = None, None
        self.look_for_orphans(run, base + ".ticks")

    def section(self, run, base):
        """The words of the command: it writes to what it has for itself, and else looks at it."""
        plan, rng = self.plan, self.random
        length = rng.choices(*plan.lengths())[0]
        run.child_code = rng.choice((0, 0, 0, 7))
        words = [plan.section, base + ".ticks", run.id, str(int(length * 1000)),
                 "code", str(run.child_code), "count", plan.counter]
        for name in ["@"] if run.one_of else run.names:  # the section knows which it got
            path = os.path.join(plan.folder, name + (".%" if run.asked == "slots" else ""))
            if run.asked != "shared":
                words += ["fence", path + ".db", "sum", path + ".sum"]
        words += ["look", os.path.join(plan.folder, run.names[0] + ".sum")] * (
            run.asked == "shared")
        words += ["ignore"] if rng.random() < 0.15 else []
        # The command itself dies with its dlock (PDEATHSIG); what it started needs the guard.
        words += ["fork"] if rng.random() < (1 if plan.kind == "U" else 0.2) else []
        return words

    @staticmethod
    def look_for_orphans(run, ticks):
        """One that dlock left is seen at once; the guard of one that was killed has a moment, in
        looks and not in time, since a machine that stood still kept it from acting."""
        looks = 100 if run.status == -9 else 0
        while looks and any(alive(p) for _, p, _ in read_notes(ticks)[-3:]):
            looks -= 1
            time.sleep(0.02)
        left = {pid for _, pid, _ in read_notes(ticks) if alive(pid)}
        run.alive = sorted(left)
        for pid in left:
            os.kill(pid, 9)

    def signal(self, number):
        """To the dlock of the current run: that run and its process, or neither."""
        run, process = self.now
        if run is None or process.returncode is not None:
            return None, None
        run.sent.append((boot_ns(), int(number)))
        process.send_signal(number)
        return run, process

    def guard(self):
        run = self.now[0]
        return guard_of(run.pid) if run else 0

    def kill_all(self, seconds):
        """dlock and its guard, and after these seconds the rest of the command: before the lease
        ends, as a command that still runs has a tenth of a second of it at least."""
        run, guard = self.now[0], self.guard()
        group = run and group_of(run.pid)
        if not group or not guard:
            return False
        os.kill(guard, signal.SIGSTOP)  # else it would see the other's end
        done = self.signal(signal.SIGKILL) != (None, None)
        os.kill(guard, signal.SIGKILL)
        time.sleep(seconds)
        kill_group(group)
        return done
