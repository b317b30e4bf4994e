#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes and gives back locks of redis-py, as told on stdin (words: tests/interop/interop.bash).

    driver.py HOST:PORT
"""
import sys

import redis
from redis.lock import Lock

from actors import Actor, add, obey

OFTEN = 0.05  # seconds between two tries; 0.1 is the library's own


class RedisPy(Actor):
    def take(self, key, lease, **options):
        timeout = None if lease == "none" else int(lease) / 1000 or 60
        lock = Lock(self.client, key, timeout=timeout, **options)
        self.locks[key] = lock
        return "acquired" if lock.acquire() else "refused"

    def word_lock(self, key, lease):
        return self.take(key, lease, sleep=OFTEN)

    def word_try(self, key, wait, lease):
        return self.take(key, lease, sleep=OFTEN, blocking_timeout=int(wait) / 1000)

    def word_default(self, key, lease):
        return self.take(key, lease)

    def word_unlock(self, key):
        self.locks[key].release()
        return "released"

    def word_extend(self, key, lease):
        self.locks[key].extend(int(lease) / 1000, replace_ttl=True)
        return "extended"

    def word_locked(self, key):
        return Lock(self.client, key).locked()

    def word_owned(self, key):
        return Lock(self.client, key).owned()

    def word_add(self, key, file, times):
        return add(file, times, lambda: self.take(key, 30000, sleep=OFTEN),
                   lambda: self.word_unlock(key))


def main():
    host, port = sys.argv[1].split(":")
    # Long: what is sent again after 5 s may have been carried out by a server that was only slow.
    client = redis.Redis(host=host, port=int(port), socket_timeout=20)
    client.ping()
    obey("redis-py " + redis.__version__, lambda: RedisPy(client))


main()
