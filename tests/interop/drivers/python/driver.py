#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes and gives back locks of redis-py, as told on stdin (words: tests/interop/interop.bash).

    driver.py HOST:PORT
"""
import pathlib
import queue
import sys
import threading
import time

import redis
from redis.lock import Lock

OFTEN = 0.05  # seconds between two tries; 0.1 is the library's own


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
            actor, verb, key, *rest = self.lines.get().split()
            called = now()
            try:
                result = getattr(self, "word_" + verb)(key, *rest)
            except Exception as error:  # pylint: disable=broad-except
                result = "error " + type(error).__name__
            # A release is over for the others as soon as it is asked for.
            when = called if verb == "unlock" else now()
            sys.stdout.write(f"{when} {actor} {verb} {key} {result}\n")
            sys.stdout.flush()

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
        """Adds 1 to the number in a file, so many times, each time under the lock."""
        path = pathlib.Path(file)
        for _ in range(int(times)):
            self.take(key, 30000, sleep=OFTEN)
            number = int(path.read_text(encoding="ascii"))
            time.sleep(0.002)
            path.write_text(f"{number + 1}\n", encoding="ascii")
            self.word_unlock(key)
        return "done"


def main():
    host, port = sys.argv[1].split(":")
    # Long: what is sent again after 5 s may have been carried out by a server that was only slow.
    client = redis.Redis(host=host, port=int(port), socket_timeout=20)
    client.ping()
    print(now(), "- ready - redis-py", redis.__version__, flush=True)
    actors = {}
    for line in sys.stdin:
        name = line.split()[0]
        if name not in actors:
            actors[name] = Actor(client)
        actors[name].lines.put(line)


main()
