# SPDX-License-Identifier: MIT
"""A small client of a Redis server: one connection, and what is said on it."""
import socket


class RedisError(Exception):
    """An error reply."""


def command(words):
    raw = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(raw) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in raw)


class Client:
    """One connection, to the path of a socket or to a host and port. Any trouble is an OSError (or
    RedisError for an error reply)."""

    def __init__(self, address, timeout=2.0, name=None):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.file = self.socket.makefile("rb")
        self.local = self.socket.getsockname()
        if name:
            self.call("CLIENT", "SETNAME", name)

    def call(self, *words):
        self.send(*words)
        return self.reply()

    def pipe(self, *commands):
        """Sends several commands at once, and has their answers; an error is an answer as well."""
        self.socket.sendall(b"".join(map(command, commands)))
        return [self.answer() for _ in commands]

    def send(self, *words):
        self.socket.sendall(command(words))

    def answer(self):
        try:
            return self.reply()
        except RedisError as error:
            return error

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server went away")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            raise RedisError(rest.decode(errors="replace"))
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode(
                errors="replace")
        return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]

    def close(self):
        self.file.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
