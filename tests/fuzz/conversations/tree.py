# SPDX-License-Identifier: MIT
"""An answer of a server as a tree: lists, dicts, numbers, texts and None, and what a protocol needs
besides. Whatever stands at a place, each protocol can write it there: so a change of the tree need
not know the protocol."""


class Group(list):
    """Its parts, one behind the other, without a count before them. A list has one."""


class Rows(Group):
    """Those of one result."""


class Frame(Group):
    """A message with a length of its own."""

    kind = b""

    def __init__(self, parts=(), kind=b""):
        super().__init__(parts)
        self.kind = kind


class Fixed(int):
    """A number of so many bytes; 0: as many as it needs."""

    size = 4

    def __new__(cls, value, size=4):
        number = super().__new__(cls, value)
        number.size = size
        return number


class Raw(bytes):
    """Bytes without a length before them."""


class Zero(Raw):
    """A text that ends with a NUL."""


class Lie:
    """A value that is written with another length or count than it has."""

    def __init__(self, value, size):
        self.value, self.size = value, size


def honest(value):
    """The value, and the length that it claims, or None."""
    return (value.value, value.size) if isinstance(value, Lie) else (value, None)


def as_bytes(value):
    """A scalar as text."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return bytes(value) if isinstance(value, bytes) else str(value).encode()


class Writer:
    """Writes trees of a binary protocol."""

    order, nothing, count_size, length_size = "big", b"\xff\xff\xff\xff", 4, 4

    def number(self, value, size):
        return (value & ((1 << 8 * size) - 1)).to_bytes(size, self.order)

    def count(self, value):
        return self.number(value, self.count_size)

    def length(self, value):
        return self.number(value, self.length_size)

    def varying(self, value):
        return self.length(value)

    def frame(self, frame, claimed):
        body = self.join(frame)
        return self.length(len(body) if claimed is None else claimed) + body

    def join(self, values):
        return b"".join(map(self.write, values))

    def write(self, value):
        value, claimed = honest(value)
        if isinstance(value, Frame):
            return self.frame(value, claimed)
        if isinstance(value, Group):
            return self.join(value)
        if isinstance(value, (list, dict)):
            return self.count(len(value) if claimed is None else claimed) + self.join(value)
        if isinstance(value, Raw):
            return value + b"\0" if isinstance(value, Zero) else bytes(value)
        if value is None:
            return self.nothing
        if isinstance(value, int) and not isinstance(value, bool):
            size = getattr(value, "size", 4)
            return self.number(value, size) if size else self.varying(value)
        text = as_bytes(value)
        return self.length(len(text) if claimed is None else claimed) + text


class Short(Exception):
    """The bytes end before the value does."""


class Reader:
    """Takes values off the front of bytes."""

    def __init__(self, data, order="big"):
        self.data, self.at, self.order = data, 0, order

    def take(self, size):
        if size < 0 or self.at + size > len(self.data):
            raise Short
        self.at += size
        return self.data[self.at - size:self.at]

    def fixed(self, size):
        signed = self.order == "big"
        return Fixed(int.from_bytes(self.take(size), self.order, signed=signed), size)

    def zero(self):
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise Short
        return Zero(self.take(end + 1 - self.at)[:-1])

    def rest(self):
        return Raw(self.take(len(self.data) - self.at))

    def left(self):
        return len(self.data) - self.at


def parts(body, reader, read):
    """`read(reader)` yields the values of the body; what it does not know is left as it is."""
    found = []
    try:
        for value in read(reader):
            found.append(value)
    except Short:
        return [Raw(body)]
    return found + ([reader.rest()] if reader.left() else [])
