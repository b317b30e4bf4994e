# SPDX-License-Identifier: MIT
"""What servers of every protocol can do with a connection."""

import time

CHUNK = 1 << 16


def exactly(conn, size):
    """`size` bytes of the client."""
    got = b""
    while len(got) < size:
        piece = conn.recv(size - len(got))
        if not piece:
            raise EOFError
        got += piece
    return got


def many(piece):
    """About 64 KiB of it."""
    return piece * max(1, CHUNK // len(piece))


def pour(conn, piece):
    """The same without an end; `piece` may be a function of how often it was called."""
    count = 0
    whole = None if callable(piece) else many(piece)
    while True:
        conn.sendall(whole if whole else piece(count))
        count += 1


def drip(conn, text, pause=0.05):
    """Byte by byte, then from the beginning."""
    while True:
        for byte in text:
            conn.sendall(bytes([byte]))
            time.sleep(pause)


def asked(piece, first=b""):
    """Waits for the question; then `first`, and `piece` without an end."""

    def act(conn):
        conn.recv(65536)
        conn.sendall(first)
        pour(conn, piece)

    return act
