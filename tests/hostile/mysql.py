# SPDX-License-Identifier: MIT
"""False servers of MariaDB and MySQL: https://mariadb.com/kb/en/clientserver-protocol/"""

import struct

from acts import drip, exactly, many, pour


def url(port, _act):
    return f"mysql://ann:secret@127.0.0.1:{port}/db?ssl-mode=disabled"


def packet(body, number=1):
    return struct.pack("<I", len(body))[:3] + bytes([number & 255]) + body


CAPABILITIES = 0x81BFD7DF  # all but TLS and compression


def greeting(flags):
    return packet(
        b"\x0a5.5.5-10.11.6-MariaDB\0" + struct.pack("<I", 7) + b"12345678\0"
        + struct.pack("<HBHH", flags & 0xFFFF, 45, 2, flags >> 16) + b"\x15" + bytes(10)
        + b"123456789012\0mysql_native_password\0", 0,
    )


GREETING = greeting(CAPABILITIES)
OK = b"\0\0\0\2\0\0\0"
MORE = b"\0\0\0\x0a\0\0\0"  # SERVER_MORE_RESULTS_EXISTS
EOF = b"\xfe\0\0\2\0"


def text(value):
    return bytes([len(value)]) + value


COLUMN = text(b"def") + text(b"") * 3 + text(b"a") + text(b"") + b"\x0c" + struct.pack("<HIBHBH", 45, 9, 253, 0, 0, 0)
SHORT_COLUMN = b"\0" * 6 + b"\x0c" + struct.pack("<HIBHBH", 45, 9, 253, 0, 0, 0)


def ask(conn):
    head = exactly(conn, 4)
    return exactly(conn, head[0] | head[1] << 8 | head[2] << 16)


def login(conn):
    conn.sendall(GREETING)
    ask(conn)
    conn.sendall(packet(OK, 2))


def numbered(body, first=1):
    """Packets in the order that the library checks: as many as make the numbers begin anew."""
    return b"".join(packet(body, first + i) for i in range(256))


def asked(piece, *before):
    """The packets `before`, then `piece` without an end."""

    def act(conn):
        login(conn)
        ask(conn)
        for i, body in enumerate(before):
            conn.sendall(packet(body, i + 1))
        pour(conn, numbered(piece, len(before) + 1))

    return act


def greeted(piece):
    def act(conn):
        conn.sendall(GREETING)
        ask(conn)
        pour(conn, numbered(piece, 2))

    return act


def tracked(count):
    """An OK that tells of so many variables."""
    one = text(b"") + text(b"")
    data = one * count
    state = b"\0\xfd" + struct.pack("<I", len(data))[:3] + data
    state = b"\xfd" + struct.pack("<I", len(state))[:3] + state
    return b"\0\0\0" + struct.pack("<HH", 0x4002, 0) + b"\0" + state


ROWS = [
    ("before the greeting: bytes without an end", lambda c: pour(c, b"\0")),
    ("before the greeting: a packet of 16 MiB", lambda c: (c.sendall(b"\xff\xff\xff\0\x0a"), pour(c, b"x"))),
    ("before the greeting: byte by byte", lambda c: drip(c, GREETING)),
    ("before the greeting: packets that continue each other", lambda c: pour(c, b"\xff\xff\xff\0" + b"\x0a" * 0xFFFFFF)),
    ("before the greeting: a report of progress", lambda c: c.sendall(packet(b"\xff\xff\xff\1\1\1\0\0\0\1x", 0))),
    ("in the login: another way to log in, without an end", greeted(b"\xfemysql_native_password\0" + b"1" * 20 + b"\0")),
    ("in the login: more to say, without an end", greeted(b"\x01\x04")),
    ("in the login: OK without an end", greeted(OK)),
    ("in the answer: rows of one NULL without an end", asked(b"\xfb", b"\1", COLUMN, EOF)),
    ("in the answer: empty rows without an end", asked(b"\0", b"\1", COLUMN, EOF)),
    ("in the answer: columns without an end", asked(COLUMN, b"\xfc\xff\xff")),
    ("in the answer: the shortest columns without an end", asked(b"\0" * 8, b"\xfc\xff\xff")),
    ("in the answer: 2^63 columns", asked(COLUMN, b"\xfe" + b"\xff" * 7 + b"\x7f")),
    ("in the answer: 2^24-1 columns", asked(COLUMN, b"\xfd\xff\xff\xff")),
    ("in the answer: results without an end", asked(MORE)),
    ("in the answer: a value longer than its row", asked(b"\xfc\xff\xff", b"\1", COLUMN, EOF)),
    ("in the answer: a value of 2^63 bytes", asked(b"\xfe" + b"\xff" * 7 + b"\x7f", b"\1", COLUMN, EOF)),
    ("in the answer: a row of 16 MiB, and another behind it", lambda c: (login(c), ask(c), c.sendall(packet(b"\1", 1) + packet(COLUMN, 2) + packet(EOF, 3)), pour(c, b"\xff\xff\xff\4" + b"x" * 0xFFFFFF))),
    ("in the answer: a request for a file", asked(b"\xfb/etc/passwd")),
    ("in the answer: errors without an end", asked(b"\xff\xbd\x04#40001no")),
    ("in the answer: an OK that is cut off", asked(b"\0")),
    ("in the answer: empty packets without an end", asked(b"")),
    ("in the answer: an OK with a hundred thousand variables", asked(tracked(100000))),
    ("in the answer: packets that are out of order", lambda c: (login(c), ask(c), pour(c, packet(OK, 77)))),
    ("in the answer: progress of 2^16 steps without an end", asked(b"\xff\xff\xff\1\1\1\0\0\0\1x")),
    ("in the answer: byte by byte", lambda c: (login(c), ask(c), drip(c, many(packet(b"\1", 1))))),
    ("unasked: results behind the login", lambda c: (login(c), pour(c, numbered(OK, 3)))),
]

# What an open connection gets in a hold, and by name what a new one does.
HELD = [
    ("in the answer: rows of one NULL without an end", packet(b"\1", 1) + packet(COLUMN, 2) + packet(EOF, 3) + b"".join(packet(b"\xfb", 4 + i) for i in range(5000))),
    ("in the answer: results without an end", b"".join(packet(MORE, 1 + i) for i in range(5120))),
]
