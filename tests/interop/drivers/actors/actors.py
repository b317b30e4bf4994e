# SPDX-License-Identifier: MIT
"""Reads lines on stdin, as tests/interop/interop.bash lists them, and has each obeyed by the actor
that it names."""
import pathlib
import queue
import sys
import threading
import time


def now():
    return time.time_ns() // 1000


class Actor(threading.Thread):
    """Does one thing after the other, with locks of its own. A driver adds a function for each
    verb, word_VERB(key, ...)."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client, self.lines, self.locks = client, queue.Queue(), {}
        self.start()

    def run(self):
        while True:
            actor, verb, key, *rest = self.lines.get().split()
            called = now()
            try:
                result = self.carry_out(verb, key, *rest)
            except Exception as error:  # pylint: disable=broad-except
                result = "error " + type(error).__name__
            # A release is over for the others as soon as it is asked for.
            when = called if verb.startswith("unlock") else now()
            sys.stdout.write(f"{when} {actor} {verb} {key} {result}\n")
            sys.stdout.flush()

    def carry_out(self, verb, *rest):
        return getattr(self, "word_" + verb)(*rest)


def add(file, times, take, release):
    """Adds 1 to the number in a file, so many times, each time under the lock."""
    path = pathlib.Path(file)
    for _ in range(int(times)):
        take()
        number = int(path.read_text(encoding="ascii"))
        time.sleep(0.002)
        path.write_text(f"{number + 1}\n", encoding="ascii")
        release()
    return "done"


def look(file, times, take, release):
    """Reads the number in a file twice, so many times, each time under the lock: it must stay."""
    path = pathlib.Path(file)
    for _ in range(int(times)):
        take()
        number = path.read_text(encoding="ascii")
        time.sleep(0.002)
        stayed = path.read_text(encoding="ascii") == number
        release()
        if not stayed:
            return "changed"
    return "done"


def obey(client, new_actor):
    """Says that this client is ready, and has all lines obeyed until stdin ends."""
    print(now(), "- ready -", client, flush=True)
    actors = {}
    for line in sys.stdin:
        name = line.split()[0]
        if name not in actors:
            actors[name] = new_actor()
        actors[name].lines.put(line)
