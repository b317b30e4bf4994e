# SPDX-License-Identifier: MIT
"""Answers of Redis: values of RESP."""
import subprocess

from members import Alone
from tree import Group, Raw, Short, as_bytes, honest


PASSWORD = "a-password-of-more-than-fifteen-bytes"


class Line(Raw):
    mark = b"+"


class Refusal(Line):
    mark = b"-"


class Push(list):
    pass


class NoList:
    """An array that is nil."""


class Store(Alone):
    def words(self, number):
        return ["redis-server", "--port", str(self.port), "--save", "", "--bind", "127.0.0.1",
                "--requirepass", PASSWORD]

    def answers(self, number):
        return subprocess.run(["redis-cli", "-p", str(self.port), "ping"], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def url(port):
    return f"redis://:{PASSWORD}@127.0.0.1:{port}"


KINDS = (Line(b"OK"), Refusal(b"ERR no"), Push([b"invalidate", [b"x"]]), NoList(), 1.5)
ERRORS = (b"ERR no", b"NOSCRIPT No matching script.", b"MOVED 1 127.0.0.1:1", b"MOVED 99999 :0",
          b"ASK 1 x", b"LOADING wait", b"READONLY You can't write against a read only replica.", b"NOAUTH no",
          b"WRONGPASS no", b"NOPERM no", b"WRONGTYPE no", b"OOM no", b"BUSY wait", b"MASTERDOWN no",
          b"NOREPLICAS no", b"CLUSTERDOWN no", b"TRYAGAIN", b"EXECABORT", b"UNKILLABLE", b"")


def errors(_tree):
    return [Refusal(text) for text in ERRORS]


def write(value):
    value, claimed = honest(value)
    if isinstance(value, Group):
        return b"".join(map(write, value))
    if isinstance(value, (list, dict)):
        mark = b">" if isinstance(value, Push) else b"%" if isinstance(value, dict) else b"*"
        pairs = isinstance(value, dict)
        members = [one for pair in value.items() for one in pair] if pairs else value
        size = len(value) if claimed is None else claimed
        return mark + b"%d\r\n" % size + b"".join(map(write, members))
    if isinstance(value, Line):
        return value.mark + value + b"\r\n"
    if isinstance(value, NoList):
        return b"*-1\r\n"
    if value is None:
        return b"$-1\r\n"
    if isinstance(value, bool):
        return b"#%c\r\n" % b"ft"[value]
    if isinstance(value, int):
        return b":%d\r\n" % value
    if isinstance(value, float):
        return b",%f\r\n" % value
    text = as_bytes(value)
    return b"$%d\r\n%s\r\n" % (len(text) if claimed is None else claimed, text)


def read(data, at):
    """(value, where it ends)"""
    end = data.find(b"\r\n", at)
    if end < 0:
        raise Short
    mark, line, at = data[at:at + 1], data[at + 1:end], end + 2
    if mark == b"+":
        return Line(line), at
    if mark == b"-":
        return Refusal(line), at
    if mark == b":":
        return int(line), at
    if mark == b"$":
        size = int(line)
        if size < 0:
            return None, at
        if len(data) < at + size + 2:
            raise Short
        return data[at:at + size], at + size + 2
    if mark not in b"*>":
        raise ValueError(f"no RESP: {data[at:at + 40]}")
    if int(line) < 0:
        return NoList(), at
    found = Push() if mark == b">" else []
    for _ in range(int(line)):
        value, at = read(data, at)
        found.append(value)
    return found, at


class Stream:
    def __init__(self):
        self.data = b""

    def asked(self, data):
        pass

    def answers(self, data):
        self.data += data
        while self.data:
            try:
                tree, end = read(self.data, 0)
            except Short:
                return
            raw, self.data = self.data[:end], self.data[end:]
            yield raw, tree

    def pending(self):
        return False
