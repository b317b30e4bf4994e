# SPDX-License-Identifier: MIT
"""Clients that are played: connections that send what dlock sends (recorded.py), and no processes.

A holder and a waiter have two connections, as dlock has: one for commands, one to listen.
"""

from recorded import Client, command, first_word


class Played:
    """One dlock of the lock number `name`, in the address of a server."""

    def __init__(self, address, sent, number, name):
        self.address, self.sent, self.number, self.name = address, sent, number, name
        self.commands, self.ears = Client(address, timeout=30), None
        self.sent_at = 0.0

    def ask(self, template, answer):
        """Sends it, and has to get this answer."""
        self.commands.socket.sendall(template(self.number, self.name))
        said = self.commands.reply()
        if first_word(said) != answer:
            raise SystemExit(f"bench: a script answered {said}, not {answer}")

    def listen(self, templates):
        """On a second connection, and lets the server track what the first one reads."""
        self.ears = Client(self.address, timeout=30)
        own = 0
        for template in templates:
            if template.words[:2] == [b"CLIENT", b"ID"]:
                own = self.ears.call("CLIENT", "ID")
            elif template.words[0] == b"SUBSCRIBE":
                self.ears.socket.sendall(template(self.number, self.name))
                for _ in template.words[1:]:
                    self.ears.reply()
            else:
                words = list(template.words)
                words[words.index(b"REDIRECT") + 1] = own
                self.commands.socket.sendall(command(words))
                self.commands.reply()

    def close(self):
        for connection in (self.commands, self.ears):
            if connection:
                connection.close()


class Holder(Played):
    every, answer = 10.0, b"renewed"  # seconds between two renewals

    def start(self):
        self.ask(self.sent.acquire, "granted")
        self.listen(self.sent.watch_hold)
        self.ask(self.sent.look, "held")
        self.request = self.sent.renew(self.number, self.name)
        return self

    def renew(self):
        self.ask(self.sent.renew, "renewed")


class Waiter(Played):
    every, answer = 2.75, b"busy"  # seconds between two heartbeats: 2.5 to 3

    def start(self, front):
        self.ask(self.sent.refused, "busy")
        self.listen(self.sent.front if front else self.sent.back)
        self.ask(self.sent.waiting, "busy")
        self.request = self.sent.waiting(self.number, self.name)
        return self

    def beat(self):
        self.ask(self.sent.waiting, "busy")


def run_once(address, sent, number, name):
    """All that the server sees of `dlock run` with a short command."""
    one = Played(address, sent, number, name)
    one.ask(sent.acquire, "granted")
    one.ask(sent.release, "released")
    one.close()


class Line:
    """A lock with its holder and waiters, whose numbers are given, the holder's first."""

    def __init__(self, address, sent, numbers, name):
        self.holder = Holder(address, sent, numbers[0], name).start()
        self.waiters = [Waiter(address, sent, number, name).start(place < 2)
                        for place, number in enumerate(numbers[1:])]

    def all(self):
        return [self.holder, *self.waiters]
