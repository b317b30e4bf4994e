#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Chaos without MONITOR, so on any store: Redis, a file of SQLite, PostgreSQL, MariaDB, three
members of an etcd or a ZooKeeper, a quorum of three or five redis-servers. Clients take one lock
over and over, a nemesis freezes and kills dlock, its guard, the servers, and cuts clients off.

    stores.py redis|sqlite|postgres|mysql|etcd|zookeeper|quorum3|quorum5 [SEED] [SECONDS]
              [--on-lost warn] [--containers N] [--or]

Every section ticks every 2 ms: no two of them may overlap, and tokens grow (class G: a server keeps
what it has committed, or has no vote until it is over; of a dlock and its guard one is left,
or nothing of the command is).
Of the six clients N run in containers: with a boot id of their own, a clock, or both.
With --or each takes one of three locks, whichever is free; all three have to be used.
--on-lost warn turns it round: there an overlap has to be seen, or the run shows nothing.
The last line is "N passed, N failed"."""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from etcd_members import Etcd
from failover import (TTL, Worker, backwards, build_ticker, end_runs, kill_runs, overlaps, sections,
                      verdict)
from quorum_members import QuorumOf3, QuorumOf5, Redis
from sql_servers import Mysql, Postgres, Sqlite
from way import children, command_of, group_of, kill_group, tell
from zk_members import Zookeeper

CLIENTS = 6
CONTAINER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "programs",
                         "in_container.sh")


class Client(Worker):
    lengths = (50, 500, 4000, 8000)  # some outlast a lease that is not renewed

    def __init__(self, number, store, given, folder, ticker):
        super().__init__(number, store.url(number), given, folder, ticker)
        self.of_store = store.options_of_dlock
        if given.one_of:
            self.names = ("--or", "chaos2", "--or", "chaos3", "chaos")
        if number < given.containers:
            kind, ahead = (("both", 100000), ("id", 0), ("clock", -3))[number % 3]
            self.ahead = ahead * (number + 1)
            self.prefix = ["env", f"TMPDIR={folder}", f"AHEAD={self.ahead}", CONTAINER, kind]

    def options(self):
        # One that finds the lock taken waits, or it comes back: then there is no line.
        return ["--on-lost", self.given.on_lost, *self.of_store,
                *self.random.choice(([], ["-w", "0"]))]

    def shell(self):
        # The kernel kills the command itself with its dlock, but not what it has started. Only its
        # process group shows that: its environment does not have the hold.
        return self.random.choice((super().shell(),
                                   'echo "$DLOCK_TOKEN $DLOCK_NAME" >"$0"; env -i "$@" & wait'))


class Nemesis:
    """One fault after the other; most hit the client that holds the lock."""

    of_clients = ("freeze_dlock", "kill_dlock", "kill_guard", "freeze_guard", "kill_all")

    def __init__(self, given, store, workers):
        self.random, self.store, self.workers = random.Random(f"{given.seed}:n"), store, workers
        self.told = []

    def holder(self):
        """The worker whose command runs, or any."""
        for worker in self.random.sample(self.workers, len(self.workers)):
            if worker.now and worker.now.poll() is None and len(children(worker.now.pid)) > 1:
                return worker
        return self.random.choice(self.workers)

    def one(self):
        worker = self.holder()
        kind = self.random.choice(self.of_clients + self.store.faults)
        seconds = self.random.choice((0.3, 0.8, 1.5)) * TTL
        self.told.append(f"{kind} {seconds:.1f}s")
        if kind in self.store.faults:
            getattr(self.store, kind)(seconds, worker.number)
        elif worker.now:
            getattr(self, kind)(worker.now.pid, seconds)
        time.sleep(self.random.uniform(0.2, 1.5))

    @staticmethod
    def guards(pid):
        return [child for child in children(pid) if command_of(child) == "lease-guard"]

    @staticmethod
    def freeze_dlock(pid, seconds):
        tell(pid, signal.SIGSTOP)
        time.sleep(seconds)
        tell(pid, signal.SIGCONT)

    @staticmethod
    def kill_dlock(pid, _):
        tell(pid, signal.SIGKILL)

    def kill_guard(self, pid, _):
        for guard in self.guards(pid):
            tell(guard, signal.SIGKILL)

    def kill_all(self, pid, _):
        """dlock and its guard, and a moment later the rest of the command: before the lease ends."""
        guards, group = self.guards(pid), group_of(pid)
        for guard in guards:  # else they would see the other's end
            tell(guard, signal.SIGSTOP)
        for process in (pid, *guards):
            tell(process, signal.SIGKILL)
        time.sleep(self.random.uniform(0, 0.08))
        if group:
            kill_group(group)

    def freeze_guard(self, pid, seconds):
        guards = self.guards(pid)
        for guard in guards:
            tell(guard, signal.SIGSTOP)
        time.sleep(seconds)
        for guard in guards:
            tell(guard, signal.SIGCONT)


def by_name(found):
    """The sections of each lock."""
    locks = {}
    for section in found:
        with open(section[3] + ".token", encoding="ascii") as file:
            locks.setdefault(file.read().split()[1], []).append(section)
    return locks


STORES = {"redis": Redis, "sqlite": Sqlite, "postgres": Postgres, "mysql": Mysql, "etcd": Etcd,
          "zookeeper": Zookeeper, "quorum3": QuorumOf3, "quorum5": QuorumOf5}


def freed(workers):
    """How many locks of dead holders were freed."""
    count = 0
    for base in (base for worker in workers for base in worker.files):
        with open(base + ".log", "rb") as log:
            count += sum(line.startswith(b'dlock: freed "chaos') for line in log)
    return count


def play(given, folder):
    ticker, store, workers = build_ticker(), None, []
    try:
        store = STORES[given.store](folder)
        store.open_way(CLIENTS)
        workers = [Client(n, store, given, folder, ticker) for n in range(CLIENTS)]
        for worker in workers:
            worker.start()
        nemesis, end = Nemesis(given, store, workers), time.monotonic() + given.seconds
        time.sleep(1.5)
        while time.monotonic() < end:
            nemesis.one()
        end_runs(workers)
        done = subprocess.run([given.dlock, "run", *store.options_of_dlock, "--ttl", "30s",
                               "-w", "20s", "chaos", "--", "true"], check=False, timeout=60,
                              env=os.environ | {"DLOCK_URL": store.url()}).returncode
        return sections(workers), nemesis.told, done, freed(workers)
    finally:
        kill_runs(workers)
        if store:
            store.stop()


def main(words):
    parser = argparse.ArgumentParser(prog="chaos stores", description=__doc__.split("\n")[0])
    parser.add_argument("store", choices=STORES)
    parser.add_argument("seed", nargs="?", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("seconds", nargs="?", type=float, default=60)
    parser.add_argument("--on-lost", dest="on_lost", default="stop", choices=["stop", "warn"])
    parser.add_argument("--dlock", default=os.path.abspath(os.environ.get("DLOCK",
                                                                         "build/dev/dlock")))
    parser.add_argument("--containers", type=int, default=0, choices=range(CLIENTS + 1))
    parser.add_argument("--or", dest="one_of", action="store_true")
    given = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = tempfile.mkdtemp(prefix="dlock-stores-")
    found, told, done, dead = play(given, folder)
    locks = by_name(found)
    over = sum((overlaps(sections_) for sections_ in locks.values()), [])
    back = sum((backwards(sections_) for sections_ in locks.values()), [])
    kinds = sorted({word.split()[0] for word in told})
    print(f"{given.store} {given.seed}: {len(found)} sections, {len(told)} faults "
          f"({', '.join(f'{kind} {sum(t.startswith(kind) for t in told)}' for kind in kinds)}), "
          f"{dead} locks of dead holders were freed")
    for line in (over + back)[:10]:
        print("  " + line)
    checks = {"sections were run": len(found) > 5, "the lock is to be had at the end": done == 0}
    if given.one_of:
        checks["each of three locks was held"] = len(locks) == 3
    if given.on_lost == "warn":
        checks["an overlap was seen"] = bool(over)
    else:
        checks |= {"no two sections overlap": not over, "tokens grow": not back}
    return verdict(checks, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
