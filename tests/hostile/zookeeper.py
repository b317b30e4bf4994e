# SPDX-License-Identifier: MIT
"""False servers of ZooKeeper: frames of jute records, as in zookeeper.jute."""

import struct

from acts import drip, exactly, many, pour


def url(port, _act):
    return f"zookeeper://127.0.0.1:{port}"


def frame(body):
    return struct.pack("!i", len(body)) + body


def header(xid, error=0, zxid=1):
    return struct.pack("!iqi", xid, zxid, error)


def event(path=b"/x"):
    return frame(header(-1, 0, -1) + struct.pack("!iii", 3, 3, len(path)) + path)


CONNECTED = frame(struct.pack("!iiqi", 0, 30000, 77, 16) + bytes(16))


def connect(conn):
    (size,) = struct.unpack("!i", exactly(conn, 4))
    exactly(conn, size)
    conn.sendall(CONNECTED)
    conn.recv(65536)


def asked(piece, first=b""):
    def act(conn):
        connect(conn)
        conn.sendall(first)
        pour(conn, piece)

    return act


def end_session(conn):
    """Opens a session, and answers each of its requests that the session has expired."""
    (size,) = struct.unpack("!i", exactly(conn, 4))
    exactly(conn, size)
    conn.sendall(CONNECTED)
    while True:
        (size,) = struct.unpack("!i", exactly(conn, 4))
        (xid,) = struct.unpack("!i", exactly(conn, size)[:4])
        conn.sendall(frame(header(xid, -112)))


# A try opens at most four sessions of each kind, and the pauses between tries grow from 100 ms.
end_session.most_connections = 50


def long_frame(size, first):
    return struct.pack("!i", size) + first


ROWS = [
    ("before the session: bytes without an end", lambda c: pour(c, b"\0")),
    ("before the session: a frame of 2^31-1 bytes", lambda c: (c.sendall(long_frame(2**31 - 1, b"")), pour(c, b"x"))),
    ("before the session: a frame of a negative length", lambda c: pour(c, long_frame(-5, b"x"))),
    ("before the session: a frame of 60 MiB", lambda c: (c.sendall(long_frame(60 << 20, b"")), pour(c, b"x"))),
    ("before the session: byte by byte", lambda c: drip(c, CONNECTED)),
    ("before the session: a password of 2^31-1 bytes", lambda c: pour(c, frame(struct.pack("!iiqi", 0, 30000, 77, 2**31 - 1)))),
    ("before the session: a timeout of -1", lambda c: pour(c, frame(struct.pack("!iiqi", 0, -1, 77, 16) + bytes(16)))),
    ("before the session: events without an end", lambda c: pour(c, event())),
    ("the session without an end", lambda c: pour(c, CONNECTED)),
    ("in the answer: events without an end", asked(event())),
    ("in the answer: events with no path without an end", asked(event(b""))),
    ("in the answer: events with paths of 1 MiB", asked(event(b"/" * (1 << 20)))),
    ("in the answer: an event that is cut off", asked(frame(header(-1, 0, -1)))),
    ("in the answer: a frame of 60 MiB", asked(b"\0", long_frame(60 << 20, header(1)))),
    ("in the answer: a frame of 2^31-1 bytes", asked(b"\0", long_frame(2**31 - 1, header(1)))),
    ("in the answer: a list of 2^31-1 children", asked(b"\0", long_frame(4 << 20, header(1) + struct.pack("!i", 2**31 - 1)))),
    ("in the answer: a million children without a name", asked(frame(header(1) + struct.pack("!i", 1000000) + bytes(4000000)))),
    ("in the answer: a negative number of children", asked(frame(header(1) + struct.pack("!i", -2)))),
    ("in the answer: empty frames without an end", asked(frame(b""))),
    ("in the answer: the answer to another question", asked(frame(header(12345)))),
    ("in the answer: pings without an end", asked(frame(header(-2)))),
    ("in the answer: logins without an end", asked(frame(header(-4)))),
    ("in the answer: errors that there are not", asked(frame(header(1, -9999)))),
    ("in the answer: session expired, without an end", asked(frame(header(1, -112)))),
    ("in the answer: each session ends at once", end_session),
    ("in the answer: byte by byte", lambda c: (connect(c), drip(c, many(event())))),
]

# What an open connection gets in a hold, and by name what a new one does.
HELD = [
    ("in the answer: events without an end", event() * 2000),
    ("the session without an end", frame(header(-2)) * 2000),
]
