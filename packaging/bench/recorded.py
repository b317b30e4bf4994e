# SPDX-License-Identifier: MIT
"""What dlock sends to Redis, recorded by MONITOR: so what is replayed is what this dlock sends.

One holder, then three waiters of the same name, one after the other: the first two are the front
of the line and track the key, the third is as all behind it. Then the holder ends, and the lock
goes from one to the next.
"""

import functools
import os
import re
import sys
import threading
import time

from setting import end, quiet

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../../tests/support/programs"))
from resp import Client, command

NAME = "replayed-000000"
LEASE_MS = 6300  # a number that occurs nowhere else; in a template it is replaced by that of a run
RUN_LEASE_MS = 30000
PATIENCE = 20  # seconds for one step of a recording

LINE = re.compile(rb"^\+[\d.]+ \[\d+ (\S+)\] (.*)$", re.S)
WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.S)
ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|.)", re.S)
ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}


def unescaped(text):
    def one(match):
        what = match[1]
        return bytes([int(what[1:], 16)]) if what[:1] == b"x" else ESCAPED.get(what, what)
    return ESCAPE.sub(one, text)


def first_word(said):
    """With which the answer of a script begins. A record alone is a grant."""
    word = said[0] if isinstance(said, list) else said
    return "granted" if isinstance(word, str) and word.startswith('{"token":') else word


class Sent:
    """A command of a client, and how many its script called."""

    def __init__(self, words):
        self.words, self.called = words, 0

    def is_script(self):
        return self.words[0] == b"EVALSHA"

    def args(self):  # of a script: what stands behind its keys
        return self.words[3 + int(self.words[2]):]


class Monitor:
    """All commands at a server, from now on."""

    def __init__(self, port):
        self.client = Client(("127.0.0.1", port), timeout=None)
        self.client.call("MONITOR")
        self.sent = []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            while line := self.client.file.readline():
                source, rest = LINE.match(line.rstrip(b"\r\n")).groups()
                words = [unescaped(word) for word in WORD.findall(rest)]
                if source == b"lua" and self.sent:
                    self.sent[-1].called += 1
                elif words[0] != b"EVAL":  # that one repeats a script that the server did not know
                    self.sent.append(Sent(words))
        except (OSError, ValueError):
            pass

    def wait(self, since, what):
        """The commands from number `since` on, once `what` is true of them."""
        until = time.monotonic() + PATIENCE
        while not what(self.sent[since:]):
            if time.monotonic() > until:
                raise SystemExit("bench: dlock did not send what it should")
            time.sleep(0.02)
        return self.sent[since:]

    def close(self):
        self.client.socket.shutdown(2)
        self.thread.join()
        self.client.close()


def scripts_in(sent):
    return [one for one in sent if one.is_script()]


class Recording:
    """Templates of commands by what they do. Of a holder: acquire, watch_hold (a list), look, renew.
    Of the last waiter: refused (its first try), back (to listen; a list), waiting (in line), turn,
    release. Of the first waiter: front (to listen; a list). handoffs: all that was sent after one
    release, up to the next one."""

    def __init__(self, one, servers):
        self.monitor = Monitor(servers.redis)
        self.started = []
        try:
            self.record(one)
        finally:
            end(self.started)
            self.monitor.close()

    def begin(self, one, words, ready):
        """What one more dlock sends until it is ready."""
        mark = len(self.monitor.sent)
        command = one.command(NAME, *words)
        command[2:2] = ["--ttl", f"{LEASE_MS}ms"]
        self.started.append(quiet(command, one.environment))
        return self.monitor.wait(mark, ready)

    def record(self, one):
        def renewals(sent):
            return [c for c in scripts_in(sent) if c.args()[1] == str(LEASE_MS).encode()]

        held = self.begin(one, ["sleep", "600"], renewals)
        acquire, renew = scripts_in(held)[0], renewals(held)[0]
        look = [c for c in scripts_in(held) if c.words[1] == renew.words[1] and c != renew]
        lines = [self.begin(one, ["true"], lambda sent: len(scripts_in(sent)) >= 2)
                 for _ in range(3)]
        mark = len(self.monitor.sent)
        self.started[0].terminate()
        for process in self.started:
            process.wait(PATIENCE)
        first, last = (scripts_in(lines[i])[0] for i in (0, 2))

        def of_last(sent):
            return [c for c in scripts_in(sent) if last.args()[0] in c.args()]

        # What MONITOR tells may come after the ends of the processes.
        handed = self.monitor.wait(mark, lambda sent: len(of_last(sent)) >= 2)
        sha = handed[0].words[1]  # of the release
        ends = [i for i, c in enumerate(handed) if c.is_script() and c.words[1] == sha]
        self.handoffs = [handed[a + 1:b + 1] for a, b in zip(ends, ends[1:])]
        # By its owner: on a busy machine a waiter can lose its place, and another one be the last.
        turn, release = of_last(handed)[-2:]
        # Not before: what a script has called may come after the script itself.
        self.use(acquire, acquire=acquire, renew=renew, look=look[0],
                 watch_hold=[c for c in held if not c.is_script()])
        self.use(first, front=[c for c in lines[0] if not c.is_script()])
        self.use(last, refused=last, back=[c for c in lines[2] if not c.is_script()],
                 waiting=scripts_in(lines[2])[1], turn=turn, release=release)

    def use(self, claim, **parts):
        """Keeps these as templates; `claim` says which owner and serial they have."""
        owner, serial = claim.args()[:2]
        for name, part in parts.items():
            made = [Template(one, owner, serial) for one in (part if isinstance(part, list)
                                                            else [part])]
            setattr(self, name, made if isinstance(part, list) else made[0])


@functools.cache
def recording(one, servers):
    return Recording(one, servers)


class Template:
    """The bytes of a recorded command, for any name, owner and serial. In the bytes these are
    replaced by others of the same length; lease and pid are made the same in all templates first.
    """

    def __init__(self, recorded, owner, serial):
        self.uuid, self.serial = owner.split(b":")[0], serial
        lease, run_lease = str(LEASE_MS).encode(), str(RUN_LEASE_MS).encode()
        self.words = [run_lease if word == lease
                      else word.replace(b'"ttl_ms":' + lease, b'"ttl_ms":' + run_lease)
                      .replace(owner, self.uuid + b":1") for word in recorded.words]
        self.called, self.bytes = recorded.called, command(self.words)

    def __call__(self, number, name=None):
        """For the client `number`, and the lock number `name`, by default the same."""
        return (self.bytes.replace(self.uuid, b"%08x-0000-4000-8000-000000000000" % number)
                .replace(self.serial, b"%016x" % number)
                .replace(NAME.encode(), b"replayed-%06d" % (number if name is None else name)))
