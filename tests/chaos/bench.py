# SPDX-License-Identifier: MIT
"""One chaos run from the first server to the history: it starts everything, lets the nemesis do
what it will, heals, looks whether all locks are to be had again, and collects. Whatever happens,
all that it started is ended, by pid."""
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import time
from dataclasses import dataclass, field

from history import History, Terms
from monitor import Clock, Monitor, boot_ns, wall_to_boot
from nemesis import HELD_BACK, Nemesis
from servers import Client, Counter, RedisError, Server
from shadow import Shadow
from way import ProxyProcess
from ways import LOCKS, Drawer, draw_ways, locks_of, named
from workers import Worker, read_notes

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Plan:
    """What a run is to be; drawn from the seed where it is not said."""
    seed: int
    seconds: float
    kind: str
    dlock: list
    folder: str
    only: tuple = ()
    clients: int = 0
    ways: list = field(default_factory=list)
    slots: int = 0               # of the lock that has some
    nested: float = 0.15         # so many of the runs have another one inside
    locks: list = field(default_factory=list)
    terms: Terms = field(default_factory=Terms)
    section: str = ""
    shim: str = ""
    counter: str = ""
    url: str = ""
    has_result_file: bool = False
    environment: dict = field(default_factory=dict)
    drawer: Drawer = None

    def __post_init__(self):
        rng = random.Random(f"{self.seed}:plan")
        clients = rng.choice((2, 3, 4, 5, 6, 8))
        self.clients = self.clients or clients
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("DLOCK", "REDIS"))}
        self.environment |= {"HOME": self.folder, "XDG_CONFIG_HOME": self.folder}
        words = subprocess.run([*self.dlock, "run", "--help"], capture_output=True, text=True,
                               timeout=20, check=False).stdout
        self.has_result_file = "--result-file" in words
        every = draw_ways(self.seed, rng, self.clients) if "--shared" in words else ["plain"]
        self.ways = self.ways or every
        self.slots = self.slots or rng.choice((2, 3, 3))
        locks = locks_of(self.ways, rng, self.clients)
        self.locks = sum(locks.values(), [])
        self.drawer = Drawer(locks, self.slots, self.nested,
                             "--max-hold" in words and self.kind != "U")

    def resources(self):
        return [*self.locks, *(f"s.{n}" for n in range(self.slots) if "slots" in self.ways)]

    def warn(self, client):
        return self.kind == "U" and client % 2 == 1

    def lengths(self):
        """Of the sections in s, and how often each. What cannot be survived needs long ones."""
        if self.kind == "U":
            return (0.4, 1.5, 3.0), (1, 2, 3)
        return (0.002, 0.005, 0.02, 0.1, 0.4, 1.5, 3.0), (12, 12, 10, 8, 6, 4, 2)


def compile_helpers(plan):
    """The section and the clock of the server, once for all runs of a checkout."""
    out = os.path.join(HERE, "..", "..", "build", "chaos")
    os.makedirs(out, exist_ok=True)
    plan.section, plan.shim = os.path.join(out, "section"), os.path.join(out, "server_clock.so")
    for target, name, flags in ((plan.section, "section.cpp", ["-lsqlite3"]),
                                (plan.shim, "server_clock.cpp", ["-shared", "-fPIC"])):
        source = os.path.join(HERE, "..", "support", "programs", name)
        if not os.path.exists(target) or os.path.getmtime(target) < os.path.getmtime(source):
            new = f"{target}.{os.getpid()}"
            subprocess.run(["g++", "-std=c++20", "-O1", "-o", new, source, *flags], check=True)
            os.replace(new, target)


class Bench:
    def __init__(self, plan):
        self.plan, self.started = plan, []
        self.workers, self.helpers, self.healing = [], [], []

    def run(self):
        plan = self.plan
        os.makedirs(os.path.join(plan.folder, "runs"))
        compile_helpers(plan)
        try:
            self.start()
            self.nemesis.start()
            self.nemesis.join(plan.seconds + 60)
            self.heal()
            return self.collect()
        finally:
            self.stop()

    def start(self):
        plan = self.plan
        self.offset = wall_to_boot()
        self.server = Server(os.path.join(plan.folder, "redis"), plan.shim, -self.offset // 1000)
        self.counter = Counter(os.path.join(plan.folder, "counter"))
        self.started += [self.server, self.counter]
        self.server.start()
        self.counter.start()
        plan.counter = self.counter.address
        for resource in plan.resources():
            make_resource(os.path.join(plan.folder, resource + ".db"))
        for cpu in os.sched_getaffinity(0):
            self.started.append(subprocess.Popen(
                [plan.section, "beat", os.path.join(plan.folder, f"beat{cpu}"), str(cpu)]))
        self.started.append(subprocess.Popen([plan.section, "disk", os.path.join(
            plan.folder, "disk")]))
        self.monitor = Monitor(self.server, os.path.join(plan.folder, "monitor"))
        self.monitor.attach()
        self.server.open()
        plan.url = "redis://%s:%d" % self.server.address
        self.proxy = ProxyProcess(self.server.address[1], plan.clients)
        self.started.append(self.proxy.process)
        self.workers = [Worker(n, plan, port) for n, port in enumerate(self.proxy.ports)]
        self.nemesis = Nemesis(plan, self.server, self.monitor, self.proxy, self.workers)
        for worker in self.workers:
            worker.start()

    # --- the end ---------------------------------------------------------------------------------

    def heal(self):
        """No faults any more: then rest, until what the proxy has held back has come, and has had a
        lease; then every lock must be to be had."""
        if self.nemesis.trouble:
            raise self.nemesis.trouble
        self.proxy.order("*", "pass")
        with self.server.client(timeout=10) as client:
            client.call("CONFIG", "SET", "min-replicas-to-write", 0)
            client.call("CONFIG", "SET", "maxmemory", 0)
            for lock in self.plan.locks:
                if client.call("TYPE", "dlock:" + lock) == "string":
                    client.call("DEL", "dlock:" + lock)
        for worker in self.workers:
            worker.stopping.set()
        for worker in self.workers:
            worker.join(40)
            if worker.is_alive():
                self.healing.append((boot_ns(), "", f"{worker.now[0]} does not end"))
        for helper in self.nemesis.helpers:
            helper.wait(20)
        time.sleep(HELD_BACK / 1000 + 1.5 * self.plan.terms.ttl / 1e9)
        self.look_for_leftovers()
        for lock in self.plan.locks:
            self.must_be_free(lock)
        if "names" in self.plan.ways:
            self.must_be_free(*LOCKS["names"])
        self.look_for_leftovers(line=True)
        self.monitor.finish()

    def look_for_leftovers(self, line=False):
        """A line may be left by who was killed in it, if it has an end; whoever takes the lock
        next finds the dead ones."""
        with self.server.client(timeout=10) as client:
            for key in client.call("KEYS", "*dlock:*"):
                if key.startswith(("redisson_lock_token:", "dlock:last:")):
                    continue  # these are to stay
                lease = client.call("PTTL", key)
                if lease == -2:
                    continue  # it has just ended
                if line or lease < 0 or not key.startswith(("dlock:line:", "dlock:waiters:")):
                    self.healing.append((boot_ns(), key, f"left over, lease {lease} ms"))

    def must_be_free(self, *names):
        wait = self.plan.terms.ttl / 1e9 + 4  # s; not the 10 for which the dead stand in line
        done = subprocess.run([*self.plan.dlock, "run", "--url", self.plan.url, "-w", f"{wait}s",
                               *named(names), "--", "true"], timeout=60, capture_output=True, text=True,
                              env=self.plan.environment, check=False)
        if done.returncode != 0:
            self.healing.append((boot_ns(), names[0], f"not to be had after {wait} s: status "
                                 f"{done.returncode} {done.stderr.strip()}"))

    def stop(self):
        for worker in self.workers:
            worker.stopping.set()
        for worker in self.workers:
            _, process = worker.now
            if process:
                process.send_signal(signal.SIGCONT)
                process.kill()
        for helper in self.nemesis.helpers if self.workers else ():
            helper.kill()
        for one in reversed(self.started):
            if isinstance(one, Server):
                if one.process:
                    one.kill()
            else:
                one.kill()
                one.wait()

    # --- the history -----------------------------------------------------------------------------

    def collect(self):
        plan = self.plan
        history = History(plan.terms, plan.kind, healing=self.healing)
        for worker in self.workers:
            for run in worker.runs:
                base = os.path.join(plan.folder, "runs", run.id)
                run.notes, run.events = read_notes(base + ".ticks"), read_events(base + ".log")
                run.result = read_result(base + ".result")
                run.lock = run.one_of and run.told(5) or run.lock
                history.runs.append(run)
        history.faults = self.nemesis.faults
        history.slots = {"s": plan.slots} if "slots" in plan.ways else {}
        for name in plan.resources():
            history.writes[name] = read_resource(os.path.join(plan.folder, name + ".db"))
            history.sums[name] = read_sum(os.path.join(plan.folder, name + ".sum"))
        with Client(self.counter.address) as client:
            for lock in {run.lock for run in history.runs}:
                history.counts[lock] = int(client.call("GET", "begins:" + lock) or 0)
        history.late = read_beats(plan.folder, "beat")
        history.slow = read_beats(plan.folder, "disk")
        self.follow_the_store(history)
        return history

    def follow_the_store(self, history):
        shadow = Shadow(history, Clock(self.offset, self.nemesis.clock_steps))
        with open(os.path.join(self.plan.folder, "monitor"), encoding="utf-8") as file:
            for line in file:
                shadow.feed(line)
        shadow.end()


# --- what was recorded ---------------------------------------------------------------------------

def make_resource(path):
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE resource(fence INTEGER)")
        db.execute("CREATE TABLE writes(id INTEGER PRIMARY KEY, token INTEGER, run TEXT, ok INT)")
        db.execute("INSERT INTO resource VALUES (0)")
    db.close()


def read_resource(path):
    db = sqlite3.connect(path)
    rows = db.execute("SELECT token, run, ok FROM writes ORDER BY id").fetchall()
    db.close()
    return [(token, run, bool(ok)) for token, run, ok in rows]


def read_sum(path):
    try:
        with open(path, encoding="utf-8") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


def read_beats(folder, what):
    late = []
    for name in os.listdir(folder):
        if re.fullmatch(what + r"\d*", name):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                late += [tuple(map(int, line.split())) for line in file]
    return sorted(late)


def read_events(path):
    events = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and "boot_ns" in event:
                events.append(event)
    return events


def read_result(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


__all__ = ["Bench", "Plan", "RedisError"]
