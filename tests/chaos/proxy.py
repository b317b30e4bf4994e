#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The network of a chaos run: one listening port for each client, each with a fault of its own.

    proxy.py SERVER_PORT CLIENTS [ADDRESS [raw]]

It listens at ADDRESS (127.0.0.1). With `raw` requests are not commands of Redis, but whatever came at once.

Prints the ports in one line. Ends with its standard input, from which it reads orders, one a line,
`CLIENT WORDS…` (`*` for all clients):

    pass               everything goes through
    blackhole          nothing moves, until the next order; what was sent meanwhile arrives then
    drop               the server gets the requests, its answers are thrown away
    hold MS            requests arrive so much later, even if the client has gone meanwhile
    late MS            answers arrive so much later
    reset              connections are reset, new ones too
    cut PERCENT        behind so many of its answers a connection ends
    duplicate          each script arrives once more on another connection, up to 500 ms later
    drip               answers come a byte every 20 ms
    replay MS          for MS from the first grant, each answer is lost with its connection; the
                       next one goes through, then all is a blackhole
"""
import asyncio
import os
import random
import socket
import struct
import sys


def take_commands(buffer):
    """Cuts the whole RESP commands off the front of a buffer: [raw…], rest."""
    out = []
    buffer = buffer.lstrip(b"\n")  # by these a replica says that it lives while it loads
    while buffer.startswith(b"*"):
        try:
            at = buffer.index(b"\r\n") + 2
            for _ in range(int(buffer[1:at - 2])):
                line_end = buffer.index(b"\r\n", at)
                at = line_end + 4 + int(buffer[at + 1:line_end])
        except ValueError:
            break
        if len(buffer) < at:
            break
        out.append(buffer[:at])
        buffer = buffer[at:]
    return out, buffer


def reset(writer):
    plug = writer.get_extra_info("socket")
    if plug is not None and plug.fileno() >= 0:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.close()


def take_whole(buffer):
    return [buffer], b""


class Side:
    """What one client sees of the network."""

    def __init__(self, proxy):
        self.proxy = proxy
        self.order(["pass"])
        self.changed = asyncio.Event()
        self.writers = set()
        self.tasks = set()  # asyncio itself forgets those that nobody refers to

    def spawn(self, work):
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def order(self, words):
        self.mode, self.ms = words[0], float(words[1]) if len(words) > 1 else 0.0
        self.since = None  # of the first lost grant, under `replay`
        if hasattr(self, "changed"):
            self.changed.set()
            self.changed = asyncio.Event()
        if self.mode == "reset":
            for writer in list(self.writers):
                reset(writer)

    async def passable(self):
        while self.mode == "blackhole":
            await self.changed.wait()

    async def serve(self, reader, writer):
        self.writers.add(writer)
        self.tasks.add(asyncio.current_task())
        server = None
        try:
            if self.mode == "reset":
                return reset(writer)
            await self.passable()
            upstream, server = await asyncio.open_connection("127.0.0.1", self.proxy.server)
            down = self.spawn(self.answers(upstream, writer))
            await self.requests(reader, server)
            if not server.is_closing():
                server.write_eof()
            await down
        except OSError:
            pass
        finally:
            self.writers.discard(writer)
            self.tasks.discard(asyncio.current_task())
            for end in (writer, server):
                if end is not None:
                    reset(end)
        return None

    async def requests(self, reader, server):
        """All that the client sends, in order, each at its time."""
        loop, rest = asyncio.get_running_loop(), b""
        queue = asyncio.Queue()

        async def forward():
            while (item := await queue.get()) is not None:
                await asyncio.sleep(max(0.0, item[0] - loop.time()))
                await self.passable()
                if not server.is_closing():
                    server.write(item[1])
        task = self.spawn(forward())
        try:
            while data := await reader.read(65536):
                commands, rest = self.proxy.cut(rest + data)
                for raw in commands:
                    delay = self.ms / 1000 if self.mode == "hold" else 0
                    queue.put_nowait((loop.time() + delay, raw))
                    if self.mode == "duplicate" and b"EVAL" in raw[:24]:
                        self.spawn(self.proxy.duplicate(raw))
        except OSError:
            pass
        finally:
            queue.put_nowait(None)
            await task

    async def answers(self, upstream, writer):
        loop = asyncio.get_running_loop()
        try:
            while data := await upstream.read(65536):
                await self.passable()
                if self.drops(data, loop.time()):
                    if self.mode == "replay":
                        break
                    continue
                if self.mode == "late":
                    await asyncio.sleep(self.ms / 1000)
                await self.give(writer, data)
                if self.mode == "cut" and self.proxy.random.uniform(0, 100) < self.ms:
                    break
                if self.mode == "replay" and self.since is not None:
                    self.order(["blackhole"])
        except OSError:
            pass
        reset(writer)  # the server is gone, or as good as gone: so is the client's connection

    async def give(self, writer, data):
        while data and not writer.is_closing():
            size = 1 if self.mode == "drip" else len(data)
            writer.write(data[:size])
            await writer.drain()
            data = data[size:]
            await asyncio.sleep(0.02 if data else 0)

    def drops(self, data, now):
        if self.mode == "replay":
            if self.since is None and (b"granted" in data or b'{"token":' in data):
                self.since = now
            return self.since is not None and now < self.since + self.ms / 1000
        return self.mode == "drop"


class Proxy:
    def __init__(self, server, cut):
        self.server, self.cut = server, cut
        self.random = random.Random(server)

    async def duplicate(self, raw):
        await asyncio.sleep(self.random.uniform(0, 0.5))
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.server)
            writer.write(b"CLIENT SETNAME duplicate\r\n" + raw)
            await asyncio.wait_for(reader.read(65536), 5)
            writer.close()
        except (OSError, asyncio.TimeoutError):
            pass


async def main(server, clients, address="127.0.0.1", *raw):
    proxy = Proxy(server, take_whole if raw else take_commands)
    sides, ports = [], []
    for _ in range(clients):
        side = Side(proxy)
        listener = await asyncio.start_server(side.serve, address, 0, backlog=128)
        sides.append(side)
        ports.append(listener.sockets[0].getsockname()[1])
    print(*ports, flush=True)
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        who, *words = line.decode().split()
        for side in sides if who == "*" else [sides[int(who)]]:
            side.order(words)
    os._exit(0)  # nothing that still waits is worth a word


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
