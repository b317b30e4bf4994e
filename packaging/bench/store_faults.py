# SPDX-License-Identifier: MIT
"""What becomes of a command and its lock in each store when a process is killed, or a server killed
or frozen: how the command ended, whether two ran at once, and when the next one began.

All stores are looked at once, with several pairs of a holder and a waiter each, which begin at
different times of a lease. The times are seconds, so what they do to each other is nothing."""

import collections
import itertools
import json
import os
import signal
import subprocess
import threading
import time

from figures import figure
from line import stamps, wait_until
from setting import descendants, end_all, quiet, tell
from store_servers import build_ticker

FOREVER_US = 600_000_000
WHEN_KILLED = 2.0  # seconds after the waiter was started


def in_threads(tasks, apart):
    """What each of them says, in their order; each begins so much later than the one before."""
    said = [None] * len(tasks)

    def run(number, task):
        time.sleep(number * apart)
        said[number] = task()

    threads = [threading.Thread(target=run, args=(number, task), daemon=True)
               for number, task in enumerate(tasks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return said


class Pair:
    """A holder, and one that waits behind it; `mark` is what both run, with the name of a file as
    its first word, and says when."""

    def __init__(self, one, folder, name, mark, held, short):
        self.files = [f"{folder}/{name}.{role}" for role in ("holder", "waiter")]
        self.one, self.name, self.mark, self.short = one, name, mark, short
        self.holder, self.waiters = self.start(self.files[0], held), []

    def start(self, file, words):
        return quiet(self.one.command(self.name, self.mark, file, *words), self.one.environment)

    def has_begun(self, role):
        file = self.files[role]
        return os.path.exists(file) and os.path.getsize(file) > 0

    def come(self):
        """Whether there is a holder, and a waiter was started."""
        if wait_until(lambda: self.has_begun(0), 20):
            self.waiters = [self.start(self.files[1], self.short)]
        return bool(self.waiters)

    def is_served(self):
        """Has the waiter had its turn? One that gave up comes again."""
        if not self.has_begun(1) and self.waiters[-1].poll() is not None:
            self.waiters.append(self.start(self.files[1], self.short))
        return self.has_begun(1)

    def stop(self):
        end_all([*self.waiters, self.holder], 5)


def lease_left(one, name):
    """Seconds, as dlock says; None of what is not dlock, and of ZooKeeper, which tells no client."""
    if not one.store or one.store.startswith("ZooKeeper"):
        return None
    said = subprocess.run([one.program, "inspect", "--json", name], env=one.environment,
                          capture_output=True, check=False, timeout=20).stdout
    left = json.loads(said)["locks"][0]["lease_left_ms"] if said else None
    return left and left / 1e3


def killed(one, folder, stamp, ttl, turn):
    """The holder with all its processes is killed at once, as if its host had crashed. Seconds until
    the next one begins, and how many of them after the end of the lease; None if it does not."""
    name = f"killed-{ttl}-{turn}"
    pair = Pair(one.leased(ttl), folder, name, stamp, (str(FOREVER_US), "9"), ("1000", "9"))
    try:
        if not pair.come():
            return None
        time.sleep(WHEN_KILLED + turn * ttl / 9)
        left, asked = lease_left(one, name), time.monotonic()
        pids = [pair.holder.pid, *descendants(pair.holder.pid)]
        tell(pids, signal.SIGSTOP)  # or one would notice the end of the other
        tell(pids, signal.SIGKILL)
        at = time.monotonic()
        pair.holder.wait()
        if not wait_until(pair.is_served, 3 * ttl + 20):
            return None
        gap = stamps(pair.files[1])[0] / 1e9 - at
        return gap, None if left is None else gap + at - asked - left
    finally:
        pair.stop()


def crash(stores, stamp, folder, amount):
    """name -> seconds until the next grant, for each ttl."""
    found = stores.rows
    tasks = list(itertools.product(found, amount.leases, range(amount.pairs)))
    for one in found:
        os.mkdir(f"{folder}/crash.{one.word}")
    said = in_threads([lambda one=one, ttl=ttl, turn=turn:
                       killed(one, f"{folder}/crash.{one.word}", stamp, ttl, turn)
                       for one, ttl, turn in tasks], 0.1)
    result = {one.name: {"survives": one.survives} for one in found}
    for one in found:
        late = []
        for ttl in amount.leases:
            gaps = [gap for (who, lease, _), gap in zip(tasks, said)
                    if (who, lease) == (one, ttl) and gap]
            result[one.name][f"gap_s_{ttl}"] = figure([gap for gap, _ in gaps])
            late += [after for _, after in gaps if after is not None]
        result[one.name]["late_s"] = figure(late)
    return result


def ticks(file):
    """The first and the last, in seconds."""
    with open(file, encoding="ascii") as lines:
        times = [int(line.split()[0]) for line in lines if line.endswith("\n")]
    return times[0] / 1e9, times[-1] / 1e9


def boot_time():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def play(one, folder, ticker, ttl, break_, pairs):
    """What becomes of some pairs: `break_` returns when the server is whole again, and a second
    later the holders may end."""
    over, started = f"{folder}.over", []
    os.mkdir(folder)
    try:
        for number in range(pairs):
            started.append(Pair(one.leased(ttl), folder, f"{os.path.basename(folder)}-{number}",
                                ticker, ("for", "600000", "until", over), ("for", "50")))
            time.sleep(ttl / 9)
        if not all([pair.come() for pair in started]):
            return {"failed": "the holder does not hold"}
        time.sleep(1)
        began, breaking = boot_time(), threading.Thread(target=break_, daemon=True)
        breaking.start()
        def served():
            return all([pair.is_served() for pair in started])

        while breaking.is_alive():
            served()
            breaking.join(0.02)
        whole = boot_time()
        wait_until(served, 1)
        with open(over, "wb"):
            pass
        wait_until(served, 2 * ttl + 30)
        time.sleep(0.5)
        return {"down_s": whole - began, **judge(started, whole)}
    finally:
        for pair in started:
            pair.stop()


def judge(pairs, whole):
    gaps, after, overlaps = [], [], 0
    for pair in pairs:
        if pair.has_begun(1):
            last, next_ = ticks(pair.files[0])[1], ticks(pair.files[1])[0]
            overlaps += next_ <= last
            gaps.append(next_ - last)
            after.append(next_ - whole)
    return {"ended": ends([pair.holder for pair in pairs]),
            "waiters": ends([one for pair in pairs for one in pair.waiters]),
            "overlaps": overlaps, "gap_s": figure(gaps), "after_s": figure(after)}


def ends(processes):
    """How they ended: "3 x 79"."""
    statuses = collections.Counter("runs" if process.poll() is None else process.returncode
                                   for process in processes)
    return ", ".join(f"{count} x {status}" for status, count in sorted(
        statuses.items(), key=lambda item: str(item[0])))


def kinds(server, ttl):
    """name -> what breaks the server, and makes it whole again."""
    def freeze(seconds):
        members = [server.leader()] if server.count > 1 else range(server.count)
        return lambda: server.freeze(members, seconds)

    who = "leader" if server.count > 1 else "server" if server.count else "file"
    found = {f"{who} stands still, ttl / 2": freeze(ttl / 2),
             f"{who} stands still, 2 x ttl": freeze(2 * ttl)}
    if server.count:
        found["all servers killed, back at once"] = lambda: server.restart(server.all(), 0)
    if server.count > 1:
        found["leader killed, back after ttl / 2"] = lambda: server.restart([server.leader()],
                                                                            ttl / 2)
        found["two killed, back after 2 x ttl"] = lambda: server.restart(
            [server.leader(), server.followers()[0]], 2 * ttl)
    return found


def of_one(one, folder, ticker, ttl, pairs):
    os.mkdir(folder)
    result = {}
    for number, (name, break_) in enumerate(kinds(one.server, ttl).items()):
        result[f"{one.name.removeprefix('dlock, ')}: {name}"] = {
            "survives": one.survives,
            **play(one, f"{folder}/fault{number}", ticker, ttl, break_, pairs)}
    return result


def faults(stores, folder, amount):
    """name of a store, and of a fault -> what became of the command."""
    ticker = build_ticker()
    found = [one for one in stores.rows if one.store]
    said = in_threads([lambda one=one: of_one(one, f"{folder}/faults.{one.word}", ticker,
                                              amount.fault_ttl, amount.pairs) for one in found],
                      0.3)
    return {name: figures for each in said if each for name, figures in each.items()}
