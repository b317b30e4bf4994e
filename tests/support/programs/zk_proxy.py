#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A proxy before a ZooKeeper, which loses an answer.

    zk_proxy.py UPSTREAM_PORT REQUEST LOG_FILE [all | end | first COMMAND…]

Listens on a free loopback port, prints it, and ends by itself after 120 s. REQUEST is create, check,
delete or set. The first request of that kind, alone or in a multi, reaches the server. When its answer
comes, both connections are closed instead, and LOG_FILE has a line. With "all" the answers to what the
client sent with that request, such as the connect, are lost too. With "end" no client is let in any
more. Everything else goes through. With "first" nothing is lost: COMMAND runs before that request goes
on."""
import select
import socket
import struct
import subprocess
import sys
import time

LIFE = 120.0
KINDS = {"create": 15, "delete": 2, "set": 5, "check": 13}
MULTI = 14


class Stream:
    """Frames out of bytes in any pieces."""

    def __init__(self):
        self.bytes = b""

    def take(self, more):
        self.bytes += more
        while len(self.bytes) >= 4:
            end = 4 + struct.unpack(">i", self.bytes[:4])[0]
            if len(self.bytes) < end:
                return
            yield self.bytes[:end]
            self.bytes = self.bytes[end:]


def asks(frame, kind):
    """Whether the frame is a request of this kind, alone or in a multi. A frame is its size, a number,
    a kind and more; in a multi each part has a header."""
    if len(frame) < 12:
        return False
    own = struct.unpack(">i", frame[8:12])[0]
    return own == kind or own == MULTI and struct.pack(">ibi", kind, 0, -1) in frame


class Pair:
    """A connection of a client, and ours to the server for it."""

    def __init__(self, client, upstream, proxy):
        self.client, self.proxy = client, proxy
        self.server = socket.create_connection(("127.0.0.1", upstream))
        self.said, self.heard = Stream(), Stream()
        self.connected, self.silent, self.doomed = False, False, None

    def from_client(self, data):
        for frame in self.said.take(data):
            if self.connected and self.doomed is None and self.proxy.is_meant(frame):
                if self.proxy.first:
                    subprocess.run(self.proxy.first, check=True)
                    continue
                self.doomed = frame[4:8]
                self.silent = self.proxy.loses_all
            self.connected = True
        self.server.sendall(data)

    def from_server(self, data):
        """Passes frames on to the client. False: the frame was the answer that must be lost."""
        for frame in self.heard.take(data):
            if frame[4:8] == self.doomed:
                return False
            if not self.silent:
                self.client.sendall(frame)
        return True


class Proxy:
    def __init__(self, upstream, request, log, *more):
        self.upstream, self.kind, self.log = int(upstream), KINDS[request], log
        self.loses_all, self.ends, self.waits = more[:1] == ("all",), more[:1] == ("end",), True
        self.first = more[1:] if more[:1] == ("first",) else None
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.pairs = {}

    def is_meant(self, frame):
        meant = self.waits and asks(frame, self.kind)
        self.waits = self.waits and not meant
        return meant

    def end(self, pair):
        for one in (pair.client, pair.server):
            self.pairs.pop(one, None)
            one.close()

    def move(self, source):
        pair = self.pairs[source]
        try:
            data = source.recv(1 << 16)
            if data and source is pair.client:
                pair.from_client(data)
                return
            if data and pair.from_server(data):
                return
        except OSError:
            data = b""
        if data:
            with open(self.log, "a", encoding="ascii") as file:
                file.write("lost\n")
            if self.ends:
                sys.exit()
        self.end(pair)

    def run(self):
        print(self.listener.getsockname()[1], flush=True)
        end = time.monotonic() + LIFE
        while time.monotonic() < end:
            for source in select.select([self.listener, *self.pairs], [], [], 1.0)[0]:
                if source is self.listener:
                    pair = Pair(self.listener.accept()[0], self.upstream, self)
                    self.pairs[pair.client] = self.pairs[pair.server] = pair
                elif source in self.pairs:
                    self.move(source)


Proxy(*sys.argv[1:]).run()
