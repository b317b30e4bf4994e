# SPDX-License-Identifier: MIT
"""Answers of MariaDB: a greeting, the packets of a login, and to a question all results."""
from sql_servers import Mysql
from tree import Fixed, Frame, Group, Raw, Reader, Rows, Short, Writer, honest, parts

MORE = 8  # results
OK, EOF, ERROR = 0, 0xFE, 0xFF


class Store(Mysql):
    options = (*Mysql.options, "--innodb-flush-log-at-trx-commit=0", "--max-connections=300")


def url(port):
    return f"mysql://chaos@127.0.0.1:{port}/locks?ssl-mode=disabled"


class Answer(Group):
    """Its packets are numbered."""

    first = 1


class Out(Writer):
    order, nothing, at = "little", b"\xfb", 0

    def length(self, value):
        value %= 1 << 64
        for mark, size, most in ((b"", 1, 0xFA), (b"\xfc", 2, 0xFFFF), (b"\xfd", 3, 0xFFFFFF)):
            if value <= most:
                return mark + self.number(value, size)
        return b"\xfe" + self.number(value, 8)

    count = length

    def frame(self, frame, claimed):
        number, self.at = self.at, self.at + 1
        body = self.join(frame)
        return self.number(len(body) if claimed is None else claimed, 3) + bytes([number & 255]) + body

    def write(self, value):
        if isinstance(honest(value)[0], Answer):
            self.at = honest(value)[0].first
        return super().write(value)


def write(tree):
    return Out().write(tree)


KINDS = (Fixed(0, 0), Fixed(2**63 - 1, 0), Fixed(250, 1), Raw(b"\xfb"), Raw(b"\xfe"), Raw(b"\xff"))
NUMBERS = (1213, 1205, 1290, 1045, 1146, 1047, 1317, 2013, 1040, 1062, 1064, 1105, 1142, 1364, 1836, 1927,
           3100, 0, 65535)


def errors(tree):
    found = []
    for number in NUMBERS:
        for state in (b"#40001", b"#HY000", b"", b"#"):
            answer = Answer([Frame([Fixed(ERROR, 1), Fixed(number, 2), Raw(state), Raw(b"no")])])
            answer.first = getattr(tree, "first", 1)
            found.append(answer)
    return found


class In(Reader):
    def __init__(self, data):
        super().__init__(data, "little")

    def varying(self):
        first = self.fixed(1)
        size = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(int(first))
        if size is None and first > 0xFA:
            raise Short
        return Fixed(self.fixed(size) if size else first, 0)

    def text(self):
        if self.data[self.at:self.at + 1] == b"\xfb":
            self.take(1)
            return None
        return self.take(self.varying())


def greeting(reader):
    yield reader.fixed(1)
    yield reader.zero()
    yield reader.fixed(4)
    yield Raw(reader.take(9))
    for size in (2, 1, 2, 2, 1):
        yield reader.fixed(size)


def done(reader):
    yield reader.fixed(1)
    yield reader.varying()
    yield reader.varying()
    yield reader.fixed(2)
    yield reader.fixed(2)


def numbers(*sizes):
    return lambda reader: (reader.fixed(size) for size in sizes)


def count(reader):
    yield reader.varying()


def column(reader):
    for _ in range(6):
        yield reader.text()
    yield reader.varying()
    for size in (2, 4, 1, 2, 1, 2):
        yield reader.fixed(size)


def row(reader):
    while reader.left():
        yield reader.text()


class Stream:
    def __init__(self):
        self.data, self.raw, self.tree, self.columns = b"", b"", Answer(), None
        self.greeted = self.ready = False

    def asked(self, data):
        pass

    def pending(self):
        return bool(self.tree)

    def all(self):
        found = self.raw, self.tree
        self.raw, self.tree = b"", Answer()
        return found

    def answers(self, data):
        self.data += data
        while len(self.data) >= 4:
            end = 4 + int.from_bytes(self.data[:3], "little")
            if len(self.data) < end:
                return
            number, body = self.data[3], self.data[4:end]
            self.raw, self.data = self.raw + self.data[:end], self.data[end:]
            if not self.tree:
                self.tree.first = number
            begins = not self.tree or self.columns is None
            read, last = self.packet(body)
            self.put(Frame(parts(body, In(body), read)), begins, read is row)
            if last:
                yield self.all()

    def put(self, packet, begins, is_row):
        """Those of a result are one part, and its rows are one of them."""
        if begins:
            self.tree.append(Group())
        result = self.tree[-1]
        if not is_row:
            result.append(packet)
        elif result and isinstance(result[-1], Rows):
            result[-1].append(packet)
        else:
            result.append(Rows([packet]))

    def packet(self, body):
        """How it is read, and whether an answer ends with it."""
        first = body[0] if body else -1
        if not self.greeted:
            self.greeted = True
            return greeting, True
        if first == ERROR:
            self.columns = None
            return numbers(1, 2), True
        if not self.ready:
            self.ready = first == OK
            return done if self.ready else numbers(1), True
        if self.columns is None:  # of a result that has not begun
            if first == OK:
                return done, not self.more(body)
            self.columns = int(In(body).varying())
            return count, False
        if self.columns > 0:
            self.columns -= 1
            return column, False
        if first == EOF and len(body) < 9:
            if self.columns == 0:
                self.columns = -1  # the rows come now
                return numbers(1, 2, 2), False
            self.columns = None
            return numbers(1, 2, 2), not body[3] & MORE
        return row, False

    @staticmethod
    def more(body):
        values = list(done(In(body)))
        return values[3] & MORE
