#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A proxy between dlock and a redis-server, for faults on the way.

    proxy.py UPSTREAM_SOCKET CONTROL_FILE LOG_FILE

Listens on a free loopback port, prints it, and ends by itself after 120 s. CONTROL_FILE is read
anew whenever it changes; its first line is one of

    pass                         everything goes through
    drop N WORD [HOW]            the answer to the N-th command from now that contains WORD is
                                 thrown away once the server has given it; then the connection
                                 is reset (HOW is close, the default) or stays silent (mute), or
                                 nothing moves any more, as under blackhole (blackhole)
    drop 1-N WORD [HOW]          the same for each of the first N
    hold N WORD MS               that command is kept for MS before the server sees it, also if
                                 its client has gone by then
    late N WORD MS               the answer to that command is kept for MS before the client sees it
    duplicate WORD MS            each command with WORD reaches the server again, on a connection of
                                 its own, at any time up to MS later
    blackhole                    nothing moves any more, new connections are accepted and ignored
    reset                        connections are reset, new ones too
    delay MS                     each piece is passed on so much later, in both directions

LOG_FILE gets a line a command (`CONNECTION WORDS…`, scripts by their key names and arguments) and
a line `-- …` for each fault that was put in, so that a test can wait for it; `-- arrived` when the
server gets what was kept.
"""
import os
import random
import select
import socket
import struct
import sys
import time

LIFE = 120.0


class Control:
    def __init__(self, path):
        self.path, self.stamp, self.words, self.seen = path, None, ["pass"], 0

    def refresh(self):
        try:
            stat = os.stat(self.path)
            stamp = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if stamp == self.stamp:
                return
            with open(self.path, encoding="utf-8") as file:
                words = file.readline().split()
        except FileNotFoundError:
            return
        if words:
            self.stamp, self.words, self.seen = stamp, words, 0

    def mode(self):
        return self.words[0]

    def strikes(self, command):
        """Is this the command that `drop`, `hold` or `late` waits for?"""
        if self.mode() not in ("drop", "hold", "late") or self.words[2].encode() not in command:
            return False
        self.seen += 1
        first, _, last = self.words[1].partition("-")
        return int(first) <= self.seen <= int(last or first)


def take_commands(buffer):
    """Cuts the whole RESP commands off the front of a buffer: [(raw, words)], rest."""
    out = []
    while buffer.startswith(b"*"):
        at, words = 0, []
        try:
            line_end = buffer.index(b"\r\n", at)
            count, at = int(buffer[1:line_end]), line_end + 2
            for _ in range(count):
                line_end = buffer.index(b"\r\n", at)
                size = int(buffer[at + 1:line_end])
                if len(buffer) < line_end + 4 + size:
                    return out, buffer
                words.append(buffer[line_end + 2:line_end + 2 + size])
                at = line_end + 4 + size
        except ValueError:
            return out, buffer
        out.append((buffer[:at], words))
        buffer = buffer[at:]
    return out, buffer


class Link:
    """One client and its connection to the server."""

    def __init__(self, number, client, server):
        self.number, self.client, self.server = number, client, server
        self.rest = b""
        self.queue = []  # (when, socket, bytes)
        self.fault = None  # what happens when the next answer comes
        self.held = None  # the command that is kept
        self.late = 0  # by how many seconds the next answer is
        self.silent = False
        self.left = False  # the client has gone, and what it sent is still on its way
        self.open = True

    def leave(self, reset):
        """The client has gone; what it sent goes on."""
        self.queue = [item for item in self.queue if item[1] is self.server]
        if self.left or not self.queue:
            return self.close(reset)
        self.close_client(reset)
        self.left = True

    def close(self, reset):
        if not self.open:
            return
        self.open = False
        self.close_client(reset)
        self.server.close()

    def close_client(self, reset):
        if self.left:
            return
        if reset:
            self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.client.close()


class Proxy:
    def __init__(self, upstream, control, log):
        self.upstream, self.control, self.links, self.count = upstream, Control(control), [], 0
        self.again = []  # (when, command)
        self.log_file = open(log, "a", buffering=1, encoding="utf-8", errors="replace")
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        print(self.listener.getsockname()[1], flush=True)
        self.end = time.monotonic() + LIFE

    def note(self, text):
        self.log_file.write(text + "\n")

    def accept(self):
        client, _ = self.listener.accept()
        self.count += 1
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self.upstream)
        except OSError:
            client.close()
            return
        link = Link(self.count, client, server)
        self.links.append(link)
        if self.control.mode() == "reset":
            link.close(reset=True)

    def from_client(self, link):
        data = link.client.recv(65536)
        if not data:
            return link.leave(reset=False)
        commands, link.rest = take_commands(link.rest + data)
        for raw, words in commands:
            shown = [w for w in words if len(w) < 300 and b"\n" not in w]
            self.note(f"{link.number} " + " ".join(w.decode(errors="replace") for w in shown))
            when = self.later()
            if self.control.strikes(raw):
                control = self.control.words
                self.note("-- " + " ".join(control))
                if control[0] == "hold":
                    link.held = raw
                    when = time.monotonic() + int(control[3]) / 1000
                elif control[0] == "late":
                    link.late = int(control[3]) / 1000
                else:
                    link.fault = control[3] if len(control) > 3 else "close"
            link.queue.append((when, link.server, raw))
            if self.control.mode() == "duplicate" and self.control.words[1].encode() in raw:
                wait = random.uniform(0, int(self.control.words[2]) / 1000)
                self.again.append((time.monotonic() + wait, raw))

    def from_server(self, link):
        data = link.server.recv(65536)
        if not data or link.left and not link.queue:
            return link.close(reset=False)
        if link.silent or link.left:
            return None
        if link.fault == "mute":
            link.silent = True
            return self.note("-- dropped")
        if link.fault == "blackhole":
            self.control.words = ["blackhole"]
            return self.note("-- dropped")
        if link.fault == "close":
            self.note("-- dropped")
            return link.close(reset=True)
        link.queue.append((self.later() + link.late, link.client, data))
        link.late = 0
        return None

    def send_again(self, raw):
        self.note("-- duplicated")
        with socket.socket(socket.AF_UNIX) as server:
            server.settimeout(20)
            server.connect(self.upstream)
            server.sendall(raw)
            server.recv(65536)

    def later(self):
        delay = int(self.control.words[1]) / 1000 if self.control.mode() == "delay" else 0
        return time.monotonic() + delay

    def pump(self, link):
        now = time.monotonic()
        while link.open and link.queue and link.queue[0][0] <= now:
            _, target, data = link.queue.pop(0)
            target.sendall(data)
            if data is link.held:
                self.note("-- arrived")

    def turn(self):
        self.control.refresh()
        mode = self.control.mode()
        if mode == "reset":
            for link in self.links:
                link.close(reset=True)
        self.links = [link for link in self.links if link.open]
        watched = {self.listener: None}
        if mode != "blackhole":
            for link in self.links:
                if not link.left:
                    watched[link.client] = (link, self.from_client)
                watched[link.server] = (link, self.from_server)
        for item in [item for item in self.again if item[0] <= time.monotonic()]:
            self.again.remove(item)
            self.send_again(item[1])
        for ready in select.select(list(watched), [], [], 0.01)[0]:
            self.control.refresh()
            if ready is self.listener:
                self.accept()
                continue
            link, act = watched[ready]
            if link.open and self.control.mode() not in ("blackhole", "reset"):
                self.guarded(link, act)
        if mode != "blackhole":
            for link in self.links:
                self.guarded(link, self.pump)

    @staticmethod
    def guarded(link, act):
        try:
            act(link)
        except OSError:
            link.leave(reset=True)

    def run(self):
        while time.monotonic() < self.end:
            self.turn()


Proxy(*sys.argv[1:4]).run()
