#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A fuzz of whole conversations: dlock with sanitizers, a real server, and a relay between them that
changes the shape of an answer, its place or its bytes, at any moment of a call.

    main.py [SECONDS] [PROTOCOL…] [--seed N [--at K] [--kind K]] [-j N] [--until REGEX]

Each protocol has a process with a server of its own, and plays N (3) conversations at a time. First
each kind of conversation is played as it is: its answers must be written as they were read, and their
number is that of which one is drawn. What the store refuses as usage (64) is left out. --seed N plays
that conversation alone; without K its place is drawn, and may be another one. A finding: dlock ended
by a signal or with a status that dlock(1) does not name for it, said "internal error", wrote what a
terminal obeys, or did not end in time (three times, as the machine may be busy); a sanitizer had a
report; or the command outlived dlock. --until ends with the first finding of which REGEX matches
what is wrong, and says when that was. The last line is "N passed, N failed"."""
import argparse
import concurrent.futures
import importlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "chaos")]
PROTOCOLS = ("redis", "postgres", "mysql", "etcd", "zookeeper")


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Fuzz:
    def __init__(self, given, folder):
        self.given, self.folder = given, folder
        self.protocol = importlib.import_module(given.one + "_answers")
        self.lengths, self.found, self.seconds, self.wanted = {}, 0, 0, False
        self.count = self.answers = self.changes = self.late = 0

    def conversation(self, seed, lengths, kind=None, at=None):
        from conversation import Conversation  # its modules are on the path now
        return Conversation(self.protocol, self.store.port, self.given.dlock, self.folder, seed, lengths,
                            kind, at)

    def as_it_is(self, number, kind, kinds):
        """A conversation without a change; a server that has just begun may have to be asked again."""
        for _ in range(5):
            play = self.conversation(number, dict.fromkeys(kinds, 0), kind, 0).play()
            # The change of one that does not work would show nothing.
            play.is_blind = play.status != 64 and (play.plan.answers == 0 or play.status in (69, 77))
            if play.wrong or not play.is_blind:
                break
        return play

    def as_they_are(self, pool, kinds):
        """False if one is not as it should be."""
        fine = True
        for play in pool.map(lambda one: self.as_it_is(*one, kinds), enumerate(kinds)):
            if play.wrong or play.is_blind:
                fine = False
                say(f"{play.finding()}\n  {play.plan.answers} answers, not changed")
            if play.status != 64:
                self.lengths[play.kind] = play.plan.answers
            if self.given.verbose:
                say(f"{self.given.one}: {play.kind}: {play.status}, {play.plan.answers} answers, "
                    f"{play.took:.1f} s")
        return fine

    def play(self):
        from conversation import KINDS
        self.store = self.protocol.Store(self.folder)
        try:
            with concurrent.futures.ThreadPoolExecutor(self.given.j) as pool:
                if not self.as_they_are(pool, list(KINDS)):
                    return False
                if self.given.seed is not None:
                    again = self.conversation(self.given.seed, self.lengths, self.given.kind,
                                              self.given.at).play()
                    say(again.finding())
                    return not again.wrong and not again.late
                return self.fuzz(pool)
        finally:
            self.store.stop()

    def fuzz(self, pool):
        base, start = self.given.base, time.monotonic()
        running, number = set(), 0
        while running or number == 0 or self.is_on(start):
            while self.is_on(start) and len(running) < self.given.j:
                number += 1
                running.add(pool.submit(self.judged, base + number))
            done, running = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
            for play in (future.result() for future in done):
                self.count += 1
                self.answers += play.plan.answers
                self.changes += play.plan.changes
                if play.wrong or play.late:
                    self.note(play, time.monotonic() - start)
        self.seconds = time.monotonic() - start
        return self.found == 0

    def note(self, play, seconds):
        self.found += 1
        when = f"found after {self.count} conversations, {seconds:.0f} s"
        say(f"{play.finding()}\n  {when}")
        if not self.wanted and self.given.until and re.search(self.given.until, "; ".join(play.wrong)):
            self.wanted = True
            say(f"{self.given.one}: {when}: {'; '.join(play.wrong)}")

    def judged(self, seed):
        for _ in range(3):
            play = self.conversation(seed, self.lengths).play()
            if play.wrong or not play.late:
                break
            self.late += 1
        return play

    def is_on(self, start):
        enough = self.wanted or self.found >= 20
        return not enough and time.monotonic() < start + self.given.seconds


def one(given):
    """All of one protocol."""
    threading.stack_size(64 << 20)  # for what is nested
    sys.setrecursionlimit(20000)
    folder = tempfile.mkdtemp(prefix=f"dlock-fuzz-{given.one}-")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        fuzz = Fuzz(given, folder)
        fine = fuzz.play()
        say(f"{given.one}: {len(fuzz.lengths)} kinds, {fuzz.count} conversations, {fuzz.answers} answers, "
            f"{fuzz.changes} changed, {fuzz.late} late, {fuzz.found} findings in {fuzz.seconds:.0f} s "
            f"from seed {given.base}")
        return 0 if fine else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(words):
    parser = argparse.ArgumentParser(prog="fuzz conversations", description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*")
    for name in ("--seed", "--at", "--base", "-j"):
        parser.add_argument(name, type=int)
    for name in ("--one", "--kind", "--until"):
        parser.add_argument(name)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--dlock", default=os.path.abspath(os.environ.get("DLOCK", "build/asan/dlock")))
    given = parser.parse_args(words)
    given.seconds, given.j = 600.0, given.j or 3
    protocols = []
    for word in given.words:
        if word in PROTOCOLS:
            protocols.append(word)
        elif word.isdigit():
            given.seconds = float(word)
        else:
            parser.error(f"no protocol is called {word}")
    if given.base is None:
        given.base = random.SystemRandom().randrange(10**9) * 1000
        words = [*words, "--base", str(given.base)]
    if given.one:
        return one(given)
    us = [sys.executable, "-B", os.path.abspath(__file__)]
    children = [subprocess.Popen([*us, *words, "--one", protocol]) for protocol in protocols or PROTOCOLS]

    def end(*_):
        for child in children:
            child.terminate()
        sys.exit(143)

    signal.signal(signal.SIGTERM, end)
    failed = sum(child.wait() != 0 for child in children)
    say(f"{len(children) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
