#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A proxy before a MariaDB, on which dlock cannot wait for bells (GET_LOCK).

    my_proxy.py UPSTREAM_PORT shares | refuses

Listens on a free loopback port, prints it, and ends by itself after 120 s. "shares": clients are
told other connection ids than the server uses, as by a proxy that shares its connections.
"refuses": a request with GET_LOCK is not sent on, and gets error 1105, as from Percona XtraDB
Cluster. Everything else goes through."""
import select
import socket
import sys
import time

LIFE = 120.0
COM_QUERY = 3


def packet(number, body):
    return len(body).to_bytes(3, "little") + bytes([number]) + body


REFUSAL = packet(1, b"\xff" + (1105).to_bytes(2, "little") + b"#HY000" + b"GET_LOCK is prohibited")


def with_another_id(greeting):
    """The greeting is a header of 4 bytes, a protocol number, a version up to a NUL, and the id."""
    at = greeting.index(b"\0", 5) + 1
    other = int.from_bytes(greeting[at:at + 4], "little") + 1000
    return greeting[:at] + other.to_bytes(4, "little") + greeting[at + 4:]


def main():
    upstream, mode = int(sys.argv[1]), sys.argv[2]
    listener = socket.create_server(("127.0.0.1", 0), backlog=100)
    print(listener.getsockname()[1], flush=True)
    end = time.monotonic() + LIFE
    others, greeted = {}, set()
    while time.monotonic() < end:
        for ready in select.select([listener, *others], [], [], 1.0)[0]:
            if ready is listener:
                client = listener.accept()[0]
                server = socket.create_connection(("127.0.0.1", upstream))
                others[client], others[server] = server, client
                continue
            if ready not in others:
                continue
            other = others[ready]
            is_client = ready.getsockname() == listener.getsockname()
            try:
                data = ready.recv(1 << 16)
                if not data:
                    raise ConnectionError
                if not is_client and ready not in greeted:
                    greeted.add(ready)
                    data = with_another_id(data) if mode == "shares" else data
                asks = is_client and len(data) > 4 and data[4] == COM_QUERY and b"get_lock" in data
                if asks and mode == "refuses":
                    ready.sendall(REFUSAL)
                else:
                    other.sendall(data)
            except OSError:
                for one in (ready, other):
                    others.pop(one, None)
                    one.close()


main()
