# SPDX-License-Identifier: MIT
"""False servers of PostgreSQL: https://www.postgresql.org/docs/current/protocol-message-formats.html"""

import struct

import base64

from acts import drip, exactly, many, pour


def url(port, act=None):
    return f"postgresql://ann:secret@127.0.0.1:{port}/db?sslmode={getattr(act, 'sslmode', 'disable')}"


LEAKS = []  # what a client said that should have hung up


def message(kind, body=b""):
    return kind + struct.pack("!I", len(body) + 4) + body


AUTH_OK = message(b"R", struct.pack("!I", 0))
READY = message(b"Z", b"I")
PARAMETERS = message(b"S", b"server_version\x0015.4\0") + message(b"S", b"client_encoding\0UTF8\0")
COLUMN = b"a\0" + struct.pack("!IHIHIH", 0, 0, 25, 0xFFFF, 0xFFFFFFFF, 0)
ONE_COLUMN = message(b"T", struct.pack("!H", 1) + COLUMN)
NULL_ROW = message(b"D", struct.pack("!Hi", 1, -1))
NOTICE = message(b"N", b"SNOTICE\0C00000\0Mhello\0\0")
NOTIFICATION = message(b"A", struct.pack("!I", 7) + b"a\0\0")


def startup(conn):
    while True:
        (size,) = struct.unpack("!I", exactly(conn, 4))
        body = exactly(conn, size - 4)
        if body[:4] != struct.pack("!I", 80877103):  # SSLRequest
            return
        conn.sendall(b"N")


def login(conn):
    startup(conn)
    conn.sendall(AUTH_OK + PARAMETERS + message(b"K", bytes(8)) + READY)


def started(piece):
    def act(conn):
        startup(conn)
        pour(conn, piece)

    return act


def asked(piece, first=b""):
    def act(conn):
        login(conn)
        conn.recv(65536)
        conn.sendall(first)
        pour(conn, piece)

    return act


def fresh_parameters(count):
    """Names that differ: the library looks for each among all."""
    return b"".join(message(b"S", b"%x\0\0" % (count * 4096 + i)) for i in range(4096))


def sasl(conn):
    startup(conn)
    conn.sendall(message(b"R", struct.pack("!I", 10) + b"SCRAM-SHA-256\0\0"))
    kind, size = struct.unpack("!cI", exactly(conn, 5))
    assert kind == b"p"
    first = exactly(conn, size - 4)
    return first[first.index(b"r=") + 2 :]


def scram(iterations, salt=b"salt"):
    def act(conn):
        nonce = sasl(conn)
        text = b"r=%sx,s=%s,i=%d" % (nonce, base64.b64encode(salt), iterations)
        conn.sendall(message(b"R", struct.pack("!I", 11) + text))

    return act


def signed(nonce=b"", signature=b""):
    """SCRAM to its end, as a server that does not know the password does it."""

    def act(conn):
        first = sasl(conn)
        text = b"r=%s,s=%s,i=4096" % (nonce or first + b"x", base64.b64encode(b"salt"))
        conn.sendall(message(b"R", struct.pack("!I", 11) + text))
        _, size = struct.unpack("!cI", exactly(conn, 5))
        exactly(conn, size - 4)
        if nonce:
            LEAKS.append("a proof for a foreign nonce")
        conn.sendall(message(b"R", struct.pack("!I", 12) + signature) + AUTH_OK + PARAMETERS + READY)
        if conn.recv(65536)[:1] not in (b"", b"X"):
            LEAKS.append("a question behind a signature that is none")

    return act


def wants(kind, more=b""):
    """A way to log in that dlock does not have."""

    def act(conn):
        startup(conn)
        conn.sendall(message(b"R", struct.pack("!I", kind) + more))
        if b"secret" in conn.recv(65536):
            LEAKS.append("the password")

    act.status = 77 if kind != 2 and kind != 10 else 69
    return act


def before_tls(answer):
    """The answer to the request for TLS, behind which the user is not named in clear."""

    def act(conn):
        exactly(conn, 8)
        conn.sendall(answer)
        if b"ann" in conn.recv(65536):
            LEAKS.append("a login without TLS")

    act.sslmode = "require"
    return act


ROWS = [
    ("before TLS: there is none", before_tls(b"N")),
    ("before TLS: an error", before_tls(message(b"E", b"SFATAL\0C08P01\0Mno\0\0"))),
    ("before TLS: an OK in clear behind the yes", before_tls(b"S" + AUTH_OK + PARAMETERS + READY)),
    ("before TLS: an OK in clear in its place", before_tls(AUTH_OK + PARAMETERS + READY)),
    ("in the login: Kerberos 5", wants(2)),
    ("in the login: GSSAPI", wants(7)),
    ("in the login: GSSAPI continued", wants(8, b"x")),
    ("in the login: SSPI", wants(9)),
    ("in the login: a way that there is not", wants(77)),
    ("in the login: SASL of another kind", wants(10, b"PLAIN\0\0")),
    ("in the login: SCRAM with a foreign nonce", signed(nonce=b"foreign")),
    ("in the login: SCRAM with a wrong signature", signed(signature=b"v=" + base64.b64encode(bytes(32)))),
    ("in the login: SCRAM without a signature", signed(signature=b"x=y")),
    ("after the login's OK: parameters without an end", started(AUTH_OK + PARAMETERS)),
    ("after the login's OK: parameters of other names", lambda c: (startup(c), c.sendall(AUTH_OK), pour(c, fresh_parameters))),
    ("before the login: notices without an end", started(NOTICE)),
    ("before the login: an error of 2^31-1 bytes", lambda c: (startup(c), c.sendall(b"E\x7f\xff\xff\xff"), pour(c, b"Sx\0"))),
    ("before the login: an error of the old kind without an end", lambda c: (startup(c), c.sendall(b"E\xff\xff\xff\xff"), pour(c, b"x"))),
    ("before the login: a message of 2^31-1 bytes", lambda c: (startup(c), c.sendall(b"R\x7f\xff\xff\xff"), pour(c, b"x"))),
    ("before the login: a message of a negative length", started(b"R\xff\xff\xff\xf0")),
    ("before the login: requests to log in without an end", started(message(b"R", struct.pack("!I", 3)))),
    ("before the login: byte by byte", lambda c: (startup(c), drip(c, AUTH_OK))),
    ("in the login: SCRAM of 2^31-1 iterations", scram(2**31 - 1)),
    ("in the login: SCRAM of no iterations", scram(0)),
    ("in the login: SCRAM of a negative number of iterations", scram(-1)),
    ("in the login: SCRAM with a salt of 60 KiB", scram(4096, bytes(60000))),
    ("in the login: SCRAM continued without an end", lambda c: (sasl(c), pour(c, message(b"R", struct.pack("!I", 11) + b"r=x,s=eA==,i=1")))),
    ("in the answer: rows of one NULL without an end", asked(NULL_ROW, ONE_COLUMN)),
    ("in the answer: rows without columns without an end", asked(message(b"D", b"\0\0"), message(b"T", b"\0\0"))),
    ("in the answer: descriptions of rows without an end", asked(ONE_COLUMN)),
    ("in the answer: a row of 2^31-1 bytes", asked(b"x", ONE_COLUMN + b"D\x7f\xff\xff\xff\0\1\x7f\xff\xff\xf0")),
    ("in the answer: a value longer than its row", asked(message(b"D", struct.pack("!Hi", 1, 1000)), ONE_COLUMN)),
    ("in the answer: 65535 columns", asked(NULL_ROW, message(b"T", struct.pack("!H", 65535) + COLUMN * 65535))),
    ("in the answer: notices without an end", asked(NOTICE)),
    ("in the answer: notifications without an end", asked(NOTIFICATION)),
    ("in the answer: parameters without an end", asked(message(b"S", b"a\0b\0"))),
    ("in the answer: parameters of other names", lambda c: (login(c), c.recv(65536), pour(c, fresh_parameters))),
    ("in the answer: statements that are done, without an end", asked(message(b"1") + message(b"2") + message(b"n") + message(b"C", b"SELECT 0\0"))),
    ("in the answer: errors without an end", asked(message(b"E", b"SERROR\0C40001\0Mno\0\0"))),
    ("in the answer: ready without an end", asked(READY)),
    ("in the answer: a kind that there is not", asked(message(b"?"))),
    ("in the answer: COPY", asked(message(b"d", b"x"), message(b"G", b"\0\0\0"))),
    ("in the answer: byte by byte", lambda c: (login(c), c.recv(65536), drip(c, many(NOTICE)))),
    ("unasked: notifications behind the login", lambda c: (login(c), pour(c, NOTIFICATION))),
]

# What an open connection gets in a hold, and by name what a new one does.
HELD = [
    ("in the answer: rows of one NULL without an end", ONE_COLUMN + NULL_ROW * 5000),
    ("in the answer: notifications without an end", NOTIFICATION * 5000),
    ("in the login: SCRAM of 2^31-1 iterations", NOTICE * 2000),
]
