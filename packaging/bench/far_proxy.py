#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server behind a network: far_proxy.py PORT ROUND_TRIP_MS

Listens on a free loopback port, prints it, and passes on every byte half a round trip late. The
first byte of a client comes one round trip later still, as a connection takes one. Ends with its
standard input."""

import collections
import selectors
import socket
import sys
import time


class Way:
    """One direction of a connection: bytes, and when they are due."""

    def __init__(self, source, sink, late):
        self.source, self.sink, self.late = source, sink, late
        self.due = collections.deque()

    def take(self, half):
        """Whether the source is still open."""
        try:
            data = self.source.recv(1 << 16)
        except OSError:
            data = b""
        self.due.append((max(time.monotonic(), self.late) + half, data))
        return bool(data)

    def pass_on(self):
        """Sends what is due. Returns when the next bytes are due."""
        while self.due and self.due[0][0] <= time.monotonic():
            data = self.due.popleft()[1]
            try:
                if data:
                    self.sink.sendall(data)
                else:
                    self.sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        return self.due[0][0] if self.due else None


def main():
    port, trip = int(sys.argv[1]), float(sys.argv[2]) / 1e3
    ready = selectors.DefaultSelector()
    listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
    ready.register(listener, selectors.EVENT_READ)
    ready.register(sys.stdin, selectors.EVENT_READ)
    print(listener.getsockname()[1], flush=True)
    ways = set()
    while True:
        dues = [due for due in [way.pass_on() for way in ways] if due is not None]
        ended = [way for way in ways if way.source is None and not way.due]
        for way in ended:
            ways.discard(way)
        timeout = max(0.0, min(dues) - time.monotonic()) if dues else None
        for key, _ in ready.select(timeout):
            if key.fileobj is sys.stdin:
                return
            if key.fileobj is listener:
                client = listener.accept()[0]
                server = socket.create_connection(("127.0.0.1", port))
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for source, sink, late in ((client, server, trip), (server, client, 0.0)):
                    way = Way(source, sink, time.monotonic() + late)
                    ways.add(way)
                    ready.register(source, selectors.EVENT_READ, way)
            elif not key.data.take(trip / 2):
                ready.unregister(key.fileobj)
                key.data.source = None


main()
