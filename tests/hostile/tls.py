# SPDX-License-Identifier: MIT
"""False servers of every protocol over TLS: what comes before a certificate is seen."""

import mysql
import postgres
from acts import exactly, pour

# HelloRequest: each is legal before the ServerHello. A message of 16 MiB, in records of 16 KiB. An
# alert that ends nothing.
PIECES = {
    "HelloRequest without an end": b"\x16\x03\x03\x00\x04\x00\x00\x00\x00",
    "a message of 16 MiB": b"\x16\x03\x03\x40\x00" + b"\x02\xff\xff\xff" + bytes(16380),
    "warnings without an end": b"\x15\x03\x03\x00\x02\x01\x5a",
    "changes of cipher without an end": b"\x14\x03\x03\x00\x01\x01",
    "a byte a record": b"\x16\x03\x03\x00\x01\x02",
}


def hello(conn):
    conn.recv(4096)


def postgres_hello(conn):
    exactly(conn, 8)
    conn.sendall(b"S")
    conn.recv(4096)


def mysql_hello(conn):
    flags = mysql.CAPABILITIES | 0x800
    conn.sendall(mysql.greeting(flags))
    mysql.ask(conn)
    conn.recv(4096)


PROTOCOLS = {
    "redis": ("rediss://localhost:%d", hello),
    "etcd": ("etcds://localhost:%d", hello),
    "zookeeper": ("zookeepers://localhost:%d", hello),
    "postgresql": ("postgresql://ann:secret@localhost:%d/db?sslmode=require", postgres_hello),
    "mysql": ("mysql://ann:secret@localhost:%d/db?ssl-mode=verify_identity", mysql_hello),
}


def row(protocol, first, piece):
    def act(conn):
        first(conn)
        pour(conn, piece)

    act.url = PROTOCOLS[protocol][0]
    return act


def url(port, act):
    return act.url % port


ROWS = [
    (f"{protocol}, within the handshake: {what}", row(protocol, first, piece))
    for protocol, (_, first) in PROTOCOLS.items()
    for what, piece in PIECES.items()
]
