# SPDX-License-Identifier: MIT
"""False servers of etcd: HTTP/1.1 with JSON."""

from acts import asked, drip, pour


def url(port, _act):
    return f"etcd://127.0.0.1:{port}"


def head(length=None, status=b"200 OK", more=b""):
    text = b"HTTP/1.1 " + status + b"\r\nContent-Type: application/json\r\n" + more
    if length is not None:
        text += b"Content-Length: %d\r\n" % length
    return text + b"\r\n"


def body(json):
    return head(len(json)) + json


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
CHUNKED = head(None, more=b"Transfer-Encoding: chunked\r\n")


def each(answer):
    """One answer to each question."""

    def act(conn):
        while conn.recv(65536):
            conn.sendall(answer)

    return act


MILLION = 1000000
ROWS = [
    ("before the question: 200 without an end", lambda c: pour(c, body(b"{}"))),
    ("100 Continue without an end", asked(CONTINUE)),
    ("102 with a header without an end", asked(b"x", b"HTTP/1.1 102 Processing\r\nx: ")),
    ("headers without an end", asked(b"a: b\r\n", b"HTTP/1.1 200 OK\r\n")),
    ("a header of one line without an end", asked(b"a", b"HTTP/1.1 200 OK\r\na: ")),
    ("a body of 2^63-1 bytes", asked(b"x", head(2**63 - 1))),
    ("a body of 2^64 bytes", asked(b"x", head(2**64))),
    ("a body of a negative length", asked(b"x", head(-1))),
    ("a body without a length without an end", asked(b" ", head())),
    ("a body of 60 MiB", asked(b" ", head(60 << 20))),
    ("60 MiB of [", asked(b"[", head(60 << 20))),
    ("4 MB of [", each(body(b"[" * 4000000))),
    ("4 MB of {\"\":", each(body(b'{"":' * MILLION))),
    ("a million small objects", each(body(b"[" + b"{}," * MILLION + b"{}]"))),
    ("a million numbers", each(body(b"[" + b"0," * MILLION + b"0]"))),
    ("a million keys in one object", each(body(b"{" + b",".join(b'"%x":0' % i for i in range(400000)) + b"}"))),
    ("a million keys in kvs", each(body(b'{"header":{},"kvs":[' + b'{},' * MILLION + b'{}]}'))),
    ("a text of 4 MB", each(body(b'{"header":{"revision":"' + b"1" * 4000000 + b'"}}'))),
    ("chunks of one byte without an end", asked(b"1\r\nx\r\n", CHUNKED)),
    ("a chunk of 2^64-1 bytes", asked(b"x", CHUNKED + b"ffffffffffffffff\r\n")),
    ("empty lines without an end", asked(b"\r\n")),
    ("answers without an end", asked(body(b"{}"))),
    ("switching to another protocol", asked(b"x", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n")),
    ("HTTP/2 frames without an end", asked(b"\0\0\0\4\0\0\0\0\0")),
    ("numbers as texts that are none", each(body(b'{"header":{"revision":"-9223372036854775809"}}'))),
    ("an answer byte by byte", lambda c: (c.recv(65536), drip(c, body(b"{}") * 100))),
]

# What an open connection gets in a hold, and by name what a new one does.
HELD = [
    ("100 Continue without an end", CONTINUE * 2000),
    ("60 MiB of [", head(60 << 20) + b"[" * 60000),
]
