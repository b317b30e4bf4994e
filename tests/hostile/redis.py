# SPDX-License-Identifier: MIT
"""False servers of Redis: https://redis.io/docs/latest/develop/reference/protocol-spec/"""

from acts import asked, drip, pour


def url(port, act):
    return getattr(act, "url", "redis://127.0.0.1:%d") % port


def member(of, act):
    """The same of the member of a set."""

    def played(conn):
        act(conn)

    played.url = {"cluster": "redis+cluster://127.0.0.1:%d", "sentinel": "redis+sentinel://127.0.0.1:%d/main"}[of]
    return played


ROWS = [
    ("before the question: OK without an end", lambda c: pour(c, b"+OK\r\n")),
    ("a text of 512 MiB", asked(b"x", b"$536870912\r\n")),
    ("a text of 2^63-1 bytes", asked(b"x", b"$9223372036854775807\r\n")),
    ("a text of a negative length", asked(b"$-7\r\n")),
    ("an array of 2^31-1 numbers", asked(b":1\r\n", b"*2147483647\r\n")),
    ("an array of 2^63-1 numbers", asked(b":1\r\n", b"*9223372036854775807\r\n")),
    ("an array of a negative length", asked(b"*-7\r\n")),
    ("arrays in each other without an end", asked(b"*1\r\n")),
    ("arrays of 100000 in each other", asked(b"*100000\r\n")),
    ("an array of empty arrays", asked(b"*0\r\n", b"*100000\r\n")),
    ("a line without an end", asked(b"x", b"+")),
    ("an error without an end", asked(b"x", b"-ERR ")),
    ("a number without an end", asked(b"1", b":")),
    ("a kind that there is not", asked(b"?\r\n")),
    ("answers without an end", asked(b"+OK\r\n")),
    ("nil without an end", asked(b"$-1\r\n")),
    ("pushes of RESP3 without an end", asked(b">1\r\n+x\r\n")),
    ("maps of RESP3 in each other", asked(b"%1\r\n+a\r\n")),
    ("messages without an end", asked(b"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n")),
    ("NOSCRIPT without an end", asked(b"-NOSCRIPT no\r\n")),
    ("MOVED without an end", asked(b"-MOVED 1 127.0.0.1:1\r\n")),
    ("LOADING without an end", asked(b"-LOADING wait\r\n")),
    ("line breaks without an end", asked(b"\r\n")),
    ("zero bytes without an end", asked(b"\0")),
    ("an answer byte by byte", lambda c: (c.recv(65536), drip(c, b"*100000\r\n" + b":1\r\n" * 1000))),
]

SETS = ("a text of 512 MiB", "arrays in each other without an end", "a line without an end", "MOVED without an end")
ROWS += [(f"{of}: {name}", member(of, act)) for of in ("cluster", "sentinel") for name, act in ROWS if name in SETS]

# What an open connection gets in a hold, and by name what a new one does.
HELD = [
    ("answers without an end", b"+OK\r\n" * 5000),
    ("messages without an end", b"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n" * 2000),
]
