#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes and releases locks of kazoo, as told on stdin (words: tests/interop/interop.bash). A kind
behind a dot chooses the lock, as in lock.read: ReadLock or WriteLock; without one it is Lock.

    driver.py HOST:PORT SESSION_MS
"""
import pathlib
import queue
import sys
import threading
import time

import kazoo
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock, ReadLock, WriteLock

KINDS = {"": Lock, "read": ReadLock, "write": WriteLock}


def now():
    return time.time_ns() // 1000


class Actor(threading.Thread):
    """Does one thing after the other, with locks of its own."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client, self.lines, self.locks = client, queue.Queue(), {}
        self.start()

    def run(self):
        while True:
            actor, word, key, *rest = self.lines.get().split()
            verb, _, kind = word.partition(".")
            called = now()
            try:
                result = getattr(self, "word_" + verb)(kind, key, *rest)
            except Exception as error:  # pylint: disable=broad-except
                result = "error " + type(error).__name__
            # A release is over for the others as soon as it is asked for.
            when = called if verb == "unlock" else now()
            sys.stdout.write(f"{when} {actor} {word} {key} {result}\n")
            sys.stdout.flush()

    def take(self, kind, key, timeout=None):
        if (kind, key) not in self.locks:
            self.locks[kind, key] = KINDS[kind](self.client, "/" + key, "kazoo")
        try:
            self.locks[kind, key].acquire(timeout=timeout)
        except LockTimeout:
            return "refused"
        return "acquired"

    def word_lock(self, kind, key, _lease=0):
        return self.take(kind, key)

    def word_try(self, kind, key, wait, _lease=0):
        return self.take(kind, key, int(wait) / 1000)

    def word_unlock(self, kind, key):
        self.locks[kind, key].release()
        return "released"

    def word_add(self, kind, key, file, times):
        """Adds 1 to the number in a file, so many times, each time under the lock."""
        path = pathlib.Path(file)
        for _ in range(int(times)):
            self.take(kind, key)
            number = int(path.read_text(encoding="ascii"))
            time.sleep(0.002)
            path.write_text(f"{number + 1}\n", encoding="ascii")
            self.word_unlock(kind, key)
        return "done"

    def word_look(self, kind, key, file, times):
        """Reads the number in a file twice, so many times, each time under the lock: it must stay."""
        path = pathlib.Path(file)
        for _ in range(int(times)):
            self.take(kind, key)
            number = path.read_text(encoding="ascii")
            time.sleep(0.002)
            stayed = path.read_text(encoding="ascii") == number
            self.word_unlock(kind, key)
            if not stayed:
                return "changed"
        return "done"


def main():
    client = KazooClient(hosts=sys.argv[1], timeout=int(sys.argv[2]) / 1000)
    client.start(timeout=20)
    print(now(), "- ready - kazoo", kazoo.__version__, flush=True)
    actors = {}
    for line in sys.stdin:
        name = line.split()[0]
        if name not in actors:
            actors[name] = Actor(client)
        actors[name].lines.put(line)


main()
