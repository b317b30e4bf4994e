#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A proxy before a server of HTTP/1.1, which loses an answer.

    http_proxy.py UPSTREAM_PORT WORD LOG_FILE

Listens on a free loopback port, prints it, and ends by itself after 120 s. The first message of a
client that contains WORD reaches the server, but once its answer has come, both connections are
closed; LOG_FILE then has a line. All else goes through."""
import select
import socket
import sys
import time

LIFE = 120.0


def main():
    upstream, word, log = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[3]
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print(listener.getsockname()[1], flush=True)
    other, doomed, dropped, end = {}, set(), False, time.monotonic() + LIFE
    clients = set()
    while time.monotonic() < end:
        ready, _, _ = select.select([listener, *other], [], [], 1.0)
        for source in ready:
            if source is listener:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", upstream))
                other[client], other[server] = server, client
                clients.add(client)
                continue
            if source not in other:
                continue
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            target = other[source]
            if source in clients and not dropped and word in data:
                dropped = True
                doomed.add(target)
            if data and source not in doomed:
                target.sendall(data)
                continue
            if data:
                time.sleep(0.2)  # by then the server has carried out all requests of the message
                with open(log, "a", encoding="ascii") as file:
                    file.write("dropped\n")
            for one in (source, target):
                other.pop(one, None)
                clients.discard(one)
                one.close()


main()
