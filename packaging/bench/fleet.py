# SPDX-License-Identifier: MIT
"""Thousands of played clients in one process: holders that renew, and lines of waiters that beat
and hand their lock on, each at its own time."""

import heapq
import random
import re
import select
import time

from clients import Holder, Line
from machine import server_ms

GRANT = re.compile(rb"\*\d+\r\n\$7\r\ngranted|\$\d+\r\n{\"token\":")  # the two forms
LIMIT = 20.0  # seconds, to hand all locks on


class Fleet:
    def __init__(self, address, servers, sent):
        self.address, self.servers, self.sent = address, servers, sent
        self.holders, self.lines, self.waiters, self.lone = [], [], [], []
        self.poll, self.by_fd = select.epoll(), {}

    def start(self, count, per_line):
        """Half of them hold a lock that no other client wants, the others are in lines."""
        numbers = iter(range(count))
        for _ in range(count // 2):
            number = next(numbers)
            self.lone.append(Holder(self.address, self.sent, number, number).start())
        for _ in range((count - count // 2) // per_line):
            line = [next(numbers) for _ in range(per_line)]
            self.lines.append(Line(self.address, self.sent, line, line[0]))
        self.waiters = [waiter for line in self.lines for waiter in line.waiters]
        self.holders = self.lone + [line.holder for line in self.lines]
        for client in self.holders + self.waiters:
            for connection in (client.commands, client.ears):
                connection.socket.setblocking(False)
                self.by_fd[connection.socket.fileno()] = client, connection
                self.poll.register(connection.socket.fileno(), select.EPOLLIN)

    def measured(self, work):
        """What `work` does, with the seconds and the server's time that it took."""
        since, before = time.monotonic(), server_ms(self.servers.redis_pid)
        result = {"errors": 0, "done": 0, "times_ms": []}
        work(result)
        return {**result, "seconds": time.monotonic() - since,
                "server_ms": server_ms(self.servers.redis_pid) - before}

    def ready(self, timeout):
        """(client, whether it is an answer, bytes) of all that has come."""
        for fd, _ in self.poll.poll(max(0.0, timeout)):
            client, connection = self.by_fd[fd]
            yield client, connection is client.commands, connection.socket.recv(1 << 16)

    def send(self, client, request):
        client.sent_at = time.monotonic()
        client.commands.socket.sendall(request)

    def silent(self, seconds):
        """Connections alone cost a server something too."""
        return self.measured(lambda result: time.sleep(seconds))

    def rest(self, seconds):
        """All renew and beat, each at its own times."""
        return self.measured(lambda result: self.keep_on(result, time.monotonic() + seconds))

    def keep_on(self, result, until):
        rng, now = random.Random(1), time.monotonic()
        due = [(now + rng.uniform(0, client.every), i, client)
               for i, client in enumerate(self.holders + self.waiters)]
        heapq.heapify(due)
        while (now := time.monotonic()) < until:
            while due[0][0] <= now:
                at, i, client = due[0]
                heapq.heapreplace(due, (at + client.every * rng.uniform(0.91, 1.09), i, client))
                self.send(client, client.request)
            for client, is_answer, said in self.ready(min(until, due[0][0]) - now):
                if is_answer:
                    result["done"] += 1
                    result["times_ms"].append((time.monotonic() - client.sent_at) * 1e3)
                    result["errors"] += client.answer not in said

    def drain(self):
        """Every lock of a line goes from one waiter to the next, until no waiter is left; all lines
        at once, as fast as this process can."""
        return self.measured(self.hand_on)

    def hand_on(self, result):
        left = len(self.waiters)
        for line in self.lines:
            self.release(line.holder)
        until = time.monotonic() + LIMIT
        while left > 0 and time.monotonic() < until:
            for client, is_answer, said in self.ready(0.1):
                if not is_answer and b"\r\nturn\r\n" in said:
                    self.send(client, self.sent.turn(client.number, client.name))
                elif is_answer and GRANT.match(said):
                    left -= 1
                    result["done"] += 1
                    self.release(client)
                elif is_answer and b"released" not in said:
                    result["errors"] += client.answer not in said
        result["errors"] += left  # waiters that had no turn

    def release(self, client):  # a holder's is recorded as a waiter's: the same command
        self.send(client, self.sent.release(client.number, client.name))

    def close(self):
        self.poll.close()
        for client in self.lone + [client for line in self.lines for client in line.all()]:
            client.close()
