# SPDX-License-Identifier: MIT
"""Answers of PostgreSQL: all messages up to ReadyForQuery, or of which no more comes."""
import subprocess

from sql_servers import Postgres
from tree import Frame, Group, Raw, Reader, Rows, Writer, Zero, parts

PASSWORD = "a-password-of-more-than-fifteen-bytes"


class Store(Postgres):
    options = (*Postgres.options, "-c", "fsync=off", "-c", "full_page_writes=off",
               "-c", "autovacuum=off", "-c", "deadlock_timeout=100ms")

    def make(self, number):
        super().make(number)
        subprocess.run([*self.change, f"{self.programs}/postgres", "--single", "-D", "data", "postgres"],
                       input=f"ALTER ROLE postgres PASSWORD '{PASSWORD}'\n".encode(), check=True,
                       cwd=self.place(number), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(f"{self.place(number)}/data/pg_hba.conf", "w", encoding="ascii") as rights:
            rights.write("host all all 127.0.0.1/32 scram-sha-256\n")


def url(port):
    return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{port}/postgres?sslmode=disable"


class Out(Writer):
    count_size = 2

    def frame(self, frame, claimed):
        body = self.join(frame)
        return frame.kind + self.length(len(body) + 4 if claimed is None else claimed) + body


def write(tree):
    return Out().write(tree)


KINDS = (Zero(b"x"), Raw(b"\0"))
STATES = (b"40001", b"40P01", b"25006", b"57P01", b"57014", b"53300", b"42P01", b"42703", b"23505", b"28P01",
          b"42501", b"55P03", b"25P02", b"08P01", b"XX000", b"00000", b"", b"4000", b"'; --")


def errors(_tree):
    found = []
    for state in STATES:
        for severity in (b"ERROR", b"FATAL", b"PANIC", b"x"):
            error = Frame([Zero(b"S" + severity), Zero(b"V" + severity), Zero(b"C" + state), Zero(b"Mno"),
                           Raw(b"\0")], b"E")
            found.append(Group([error, Frame([Raw(b"E" if len(found) % 2 else b"I")], b"Z")]))
    return found


def columns(reader):
    yield [Group([reader.zero(), *(reader.fixed(size) for size in (4, 2, 4, 2, 4, 2))])
           for _ in range(reader.fixed(2))]


def row(reader):
    values = []
    for _ in range(reader.fixed(2)):
        size = reader.fixed(4)
        values.append(None if size < 0 else reader.take(size))
    yield values


def texts(reader):
    while reader.left() > 1:
        yield reader.zero()


def numbers(*sizes):
    def read(reader):
        for size in sizes:
            yield reader.fixed(size)

    return read


def notification(reader):
    yield reader.fixed(4)
    yield from texts(reader)
    yield reader.zero()


READ = {b"T": columns, b"D": row, b"C": texts, b"S": texts, b"E": texts, b"N": texts, b"R": numbers(4),
        b"K": numbers(4, 4), b"A": notification, b"t": lambda reader: iter(())}


def results(messages):
    """Those of a statement are one part, and its rows are one of them."""
    found, one = Group(), Group()
    for message in messages:
        if message.kind != b"D":
            one.append(message)
        elif one and isinstance(one[-1], Rows):
            one[-1].append(message)
        else:
            one.append(Rows([message]))
        if message.kind in (b"C", b"I", b"E", b"Z"):
            found.append(one)
            one = Group()
    if one:
        found.append(one)
    return found


class Stream:
    def __init__(self):
        self.data, self.raw, self.messages = b"", b"", []

    def asked(self, data):
        pass

    def pending(self):
        return bool(self.messages)

    def all(self):
        found = self.raw, results(self.messages)
        self.raw, self.messages = b"", []
        return found

    def answers(self, data):
        self.data += data
        while len(self.data) >= 5:
            kind, end = self.data[:1], 1 + int.from_bytes(self.data[1:5], "big")
            if len(self.data) < end:
                return
            body = self.data[5:end]
            self.raw, self.data = self.raw + self.data[:end], self.data[end:]
            read = READ.get(kind, lambda reader: iter(()))
            self.messages.append(Frame(parts(body, Reader(body), read), kind))
            if kind == b"Z" or (kind == b"R" and body[:4] != bytes(4)):
                yield self.all()
