#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes and releases locks of kazoo, as told on stdin (words: tests/interop/interop.bash). A kind
behind a dot chooses the lock, as in lock.read: ReadLock or WriteLock; without one it is Lock.

    driver.py HOST:PORT SESSION_MS
"""
import sys

import kazoo
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock, ReadLock, WriteLock

from actors import Actor, add, look, obey

KINDS = {"": Lock, "read": ReadLock, "write": WriteLock}


class Kazoo(Actor):
    def carry_out(self, verb, *rest):
        verb, _, kind = verb.partition(".")
        return super().carry_out(verb, kind, *rest)

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
        return add(file, times, lambda: self.take(kind, key), lambda: self.word_unlock(kind, key))

    def word_look(self, kind, key, file, times):
        return look(file, times, lambda: self.take(kind, key), lambda: self.word_unlock(kind, key))


def main():
    client = KazooClient(hosts=sys.argv[1], timeout=int(sys.argv[2]) / 1000)
    client.start(timeout=20)
    obey("kazoo " + kazoo.__version__, lambda: Kazoo(client))


main()
