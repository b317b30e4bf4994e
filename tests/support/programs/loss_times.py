#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how long a command runs on after its lock was taken away.

    loss_times.py DLOCK SOCKET TRIES WORD…

Holds TRIES locks, "loss-1" and so on, each by a `dlock run` of its own. When the server tracks the
keys of all locks, sends the Redis command WORD… for one lock after the other, and waits for the end
of the command that ran under this lock. LOCK in a WORD stands for the key of the lock. A Redis command
without LOCK concerns all locks, so then only one lock is held at a time.

Prints one line, "p50 N p95 N max N", in ms from sending the command to the end of the process. Every
dlock must end with 79, or this fails.
"""
import os
import select
import subprocess
import sys
import tempfile
import time

PATIENCE = 30


def cli(path, *words):
    done = subprocess.run(["redis-cli", "-s", path, *words], capture_output=True, check=True)
    return done.stdout.decode()


def wait_until(what, claim):
    end = time.monotonic() + PATIENCE
    while not claim():
        if time.monotonic() > end:
            sys.exit(f"loss_times.py: {what} takes longer than {PATIENCE} s")
        time.sleep(0.01)


def tracking(path, count):
    return f"tracking_clients:{count}\r" in cli(path, "INFO", "clients")


class Holder:
    def __init__(self, dlock, folder, number):
        self.name = f"loss-{number}"
        self.file = os.path.join(folder, self.name)
        script = 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec sleep 60'
        self.process = subprocess.Popen([dlock, "run", self.name, "--", "sh", "-c", script, self.file],
                                        stderr=subprocess.DEVNULL)

    def holds(self):
        return os.path.exists(self.file)

    def lose(self, act):
        with open(self.file, encoding="ascii") as file:
            child = os.pidfd_open(int(file.read()))
        began = time.monotonic()
        act(self.name)
        gone, _, _ = select.select([child], [], [], PATIENCE)
        took = time.monotonic() - began
        os.close(child)
        status = self.process.wait(PATIENCE)
        if not gone or status != 79:
            sys.exit(f"loss_times.py: {self.name}: gone {bool(gone)}, status {status}")
        return took * 1000


def main():
    dlock, path, tries, words = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    one_each = any("LOCK" in word for word in words)

    def act(name):
        cli(path, *(word.replace("LOCK", "dlock:" + name) for word in words))

    times, started = [], 0
    with tempfile.TemporaryDirectory() as folder:
        while started < tries:
            count = min(tries, 25) if one_each else 1
            group = [Holder(dlock, folder, started + i) for i in range(count)]
            started += count
            try:
                wait_until("holding", lambda: all(one.holds() for one in group))
                wait_until("tracking", lambda: tracking(path, count))
                times += [one.lose(act) for one in group]
            finally:
                for one in group:
                    if one.process.poll() is None:
                        one.process.terminate()
    times.sort()
    at = lambda part: times[min(len(times) - 1, int(len(times) * part))]
    print(f"p50 {at(0.5):.0f} p95 {at(0.95):.0f} max {times[-1]:.0f}")


main()
