# SPDX-License-Identifier: MIT
"""What one core of a Redis server carries: what each kind of client costs it, from few clients;
and a fleet of thousands, all at once, which shows whether these costs add up.

The server's time is the processor time of its main thread.
"""

import functools
import multiprocessing
import resource
import statistics
import time

from clients import Holder, Waiter, run_once
from figures import figure
from fleet import Fleet
from holders import memory
from machine import server_ms
from recorded import recording

PER_LINE = 10  # clients of a lock that others wait for, the holder included
BLOCK = 25  # clients in one value of a figure
FIRST_RUN = 900_000  # number of the lock of the first short run
PAUSE = 0.002  # seconds
CALM = 4.0  # seconds: a server frees the buffers of a connection that is idle for two


class Costs:
    """Of `count` holders and `count` waiters, on a server where nothing else happens."""

    def __init__(self, one, servers, folder, count):
        self.servers, self.count = servers, count
        self.sent = recording(one, servers)
        self.tcp, self.unix = ("127.0.0.1", servers.redis), f"{folder}/redis.sock"
        self.clients = []

    def us(self, calls, pause=0.0):
        """Server time of one call, measured for a block of them at a time. With a pause each call
        comes alone, as at rest: the server sleeps before it, and its caches are cold."""
        values = []
        for i in range(0, len(calls), BLOCK):
            before = server_ms(self.servers.redis_pid)
            block = calls[i:i + BLOCK]
            for call in block:
                time.sleep(pause)
                call()
            values.append((server_ms(self.servers.redis_pid) - before) * 1e3 / len(block))
        return figure(values)

    def with_bytes(self, make):
        """The clients that it makes, and the memory of the server for each."""
        time.sleep(CALM)
        before = memory(self.servers)
        made = make()
        self.clients += made
        time.sleep(CALM)
        return made, figure([(memory(self.servers) - before) / len(made)])

    def runs(self, address):
        return self.us([lambda i=i: run_once(address, self.sent, FIRST_RUN + i, FIRST_RUN + i)
                        for i in range(4 * self.count)])

    def measure(self):
        run_unix, run_tcp = self.runs(self.unix), self.runs(self.tcp)
        holders, holder_bytes = self.with_bytes(lambda: [
            Holder(self.tcp, self.sent, i, i).start() for i in range(self.count)])
        renewal = self.us([holder.renew for holder in holders], PAUSE)
        waiters, waiter_bytes = self.with_bytes(lambda: [
            Waiter(self.tcp, self.sent, self.count + i, i // PER_LINE).start(i % PER_LINE < 2)
            for i in range(self.count)])
        beat = self.us([waiter.beat for waiter in waiters], PAUSE)
        return {
            "a run, unix socket": row(run_unix, 1, "runs/s", 1),
            "a run, tcp": row(run_tcp, 1, "runs/s", 1),
            "a holder, a renewal": row(renewal, Holder.every, "holders", 2, holder_bytes),
            "a waiter, a heartbeat": row(beat, Waiter.every, "waiters", 2, waiter_bytes),
            "a hand-off": row(self.hand_offs(holders), 1, "hand-offs/s", 2)}

    def hand_offs(self, holders):
        """From one release to the next, through the waiters of each line: two scripts, a message."""
        by_line = [self.clients[self.count + i:self.count + i + PER_LINE]
                   for i in range(0, self.count, PER_LINE)]
        calls = []
        for name, line in enumerate(by_line):
            for waiter in line:
                calls.append(lambda waiter=waiter: (waiter.ask(self.sent.turn, "granted"),
                                                    waiter.ask(self.sent.release, "released")))
            holder = holders[name]
            holder.ask(self.sent.release, "released")
        return self.us(calls)

    def close(self):
        for client in self.clients:
            client.close()


def row(us, every, of_what, connections, bytes_each=None):
    """`every`: seconds between two of them."""
    carries = {name: every * 1e6 / us[name] for name in ("median", "q1", "q3")}
    return {"server_us": us, "connections": connections, "server_bytes": bytes_each,
            "core_carries": f"{carries['median']:.0f} {of_what}"}


@functools.cache
def costs(one, servers, folder, count):
    played = Costs(one, servers, folder, count)
    try:
        return played.measure()
    finally:
        played.close()


def runs_meanwhile(address, sent, seconds, pipe):
    """In a process of its own: short runs, one after the other."""
    until, times = time.monotonic() + seconds, []
    while (begin := time.monotonic()) < until:
        run_once(address, sent, FIRST_RUN, FIRST_RUN + len(times) % 1000)
        times.append((time.monotonic() - begin) * 1e3)
    pipe.send(times)


def together(one, servers, folder, count, seconds, price):
    """`count` clients, or as many as the limits of this machine leave room for. `price`: the costs
    of few."""
    room = (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200) // 2
    count = min(count, room) // PER_LINE * PER_LINE
    price = {name: values["server_us"]["median"] / 1e6 for name, values in price.items()}
    sent = recording(one, servers)
    fleet = Fleet(("127.0.0.1", servers.redis), servers, sent)
    result, base = {"no client": seen(fleet.silent(1), 0)}, memory(servers)
    try:
        fleet.start(count, PER_LINE)
        holders, waiters = len(fleet.holders), len(fleet.waiters)
        silent = seen(fleet.silent(2), count)
        at_rest = (silent["server_percent"] / 100
                   + holders / Holder.every * price["a holder, a renewal"]
                   + waiters / Waiter.every * price["a waiter, a heartbeat"])
        result[f"{holders} holders, {waiters} waiters, silent"] = silent
        result["the same, renewing and beating"] = seen(fleet.rest(seconds), count,
                                                        lambda per_s: at_rest)
        used = (memory(servers) - base) / (1 << 20)
        result["the same, renewing and beating"]["server_mib"] = figure([used])
        result["the same, and short runs"] = seen(
            with_runs(fleet, f"{folder}/redis.sock", sent, seconds / 2), count,
            lambda per_s: at_rest + per_s * price["a run, unix socket"])
        result["hand-offs, lines of 9 waiters"] = seen(
            {**fleet.drain(), "times_ms": []}, count, lambda per_s: per_s * price["a hand-off"])
        return result
    finally:
        fleet.close()


def with_runs(fleet, address, sent, seconds):
    """The fleet, and in a process of its own short runs; what is counted are the runs."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(
        target=runs_meanwhile, args=(address, sent, seconds, theirs))
    process.start()
    measured = fleet.rest(seconds)
    times = ours.recv()
    process.join()
    return {**measured, "times_ms": times, "done": len(times)}


def seen(measured, clients, expected=None):
    """A row: what was done, what the server's share of a core was, and should have been."""
    per_s = measured["done"] / measured["seconds"]
    result = {"clients": clients, "per_s": per_s, "errors": measured["errors"],
              "server_percent": measured["server_ms"] / measured["seconds"] / 10}
    if expected:
        result["expected_percent"] = 100 * expected(per_s)
    if len(measured["times_ms"]) > 1:
        cents = statistics.quantiles(measured["times_ms"], n=100, method="inclusive")
        result.update(p50_ms=cents[49], p99_ms=cents[98])
    return result
