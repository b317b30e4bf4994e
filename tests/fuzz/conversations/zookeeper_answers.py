# SPDX-License-Identifier: MIT
"""Answers of ZooKeeper: frames of jute, each as the question with its number has it."""
from tree import Fixed, Frame, Group, Raw, Reader, Writer, parts
from zk_members import Zookeeper

CONNECT, EVENT, FIRST = "connect", -1, -100
CREATE, EXISTS, GET, SET, MULTI = 1, 3, 4, 5, 14


class Store(Zookeeper):
    count = 1


def url(port):
    return f"zookeeper://127.0.0.1:{port}"


def write(tree):
    return Writer().write(tree)


KINDS = (Fixed(0, 1), Fixed(0, 8), Fixed(-1, 4), Raw(b"\0"))
CODES = (-1, -2, -4, -5, -7, -8, -13, -101, -102, -103, -108, -110, -111, -112, -115, -118, -9999, 1,
         2**31 - 1)


def errors(tree):
    """To the question of the answer, or to another."""
    numbers = [tree[0]] if len(tree) > 2 and isinstance(tree[0], Fixed) and tree[0].size == 4 else []
    return [Frame([number, Fixed(1, 8), Fixed(code, 4)])
            for code in CODES for number in numbers + [Fixed(12345, 4)]]


def text(reader):
    size = reader.fixed(4)
    return None if size < 0 else reader.take(size)


def stat(reader):
    return Group(reader.fixed(size) for size in (8, 8, 8, 8, 4, 4, 4, 8, 4, 4, 8))


def body(kind, reader):
    if kind in (CREATE, 15, 19, 21, GET, 9):  # 15: with stat; 19: a container; 21: with a ttl; 9: sync
        yield text(reader)
    if kind in (8, 12):
        yield [text(reader) for _ in range(reader.fixed(4))]
    if kind in (EXISTS, GET, SET, 12, 15, 19, 21):
        yield stat(reader)
    if kind == -1:
        yield reader.fixed(4)
    if kind == MULTI:
        while reader.left():
            head = Group([reader.fixed(4), reader.fixed(1), reader.fixed(4)])
            yield Group([head, *body(int(head[0]), reader)] if not head[1] else [head])


class Stream:
    def __init__(self):
        self.data, self.questions, self.connected = b"", b"", False
        self.kinds = {}

    def asked(self, data):
        self.questions += data
        while len(self.questions) >= 4:
            end = 4 + int.from_bytes(self.questions[:4], "big")
            if len(self.questions) < end:
                return
            if self.kinds:
                reader = Reader(self.questions[4:end])
                number = int(reader.fixed(4))
                self.kinds[number] = int(reader.fixed(4))
            else:
                self.kinds[FIRST] = CONNECT
            self.questions = self.questions[end:]

    def pending(self):
        return False

    def answers(self, data):
        self.data += data
        while len(self.data) >= 4:
            end = 4 + int.from_bytes(self.data[:4], "big")
            if len(self.data) < end:
                return
            raw, self.data = self.data[:end], self.data[end:]
            yield raw, Frame(parts(raw[4:], Reader(raw[4:]), self.values))

    def values(self, reader):
        if not self.connected:
            self.connected = True
            yield from (reader.fixed(size) for size in (4, 4, 8))
            yield text(reader)
            return
        number = reader.fixed(4)
        yield number
        yield reader.fixed(8)
        error = reader.fixed(4)
        yield error
        if int(number) == EVENT:
            yield reader.fixed(4)
            yield reader.fixed(4)
            yield text(reader)
        elif reader.left():
            yield from body(self.kinds.get(int(number)), reader)
