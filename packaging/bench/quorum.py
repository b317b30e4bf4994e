# SPDX-License-Identifier: MIT
"""A quorum of independent redis-servers, beside redsync and node-redlock: what a lock costs alone, and
what a crowd of clients costs that come at once, each wanting the lock once.

dlock's clients are processes that are started; those of the libraries are actors of one process that
runs already, each with a lock of its own and the library's own delays between two tries. The lock is
idle from when a holder begins to release it until the next one has it. Between two commands of dlock
lies more: that the end of one is noticed, and the fork and exec of the next. Messages are
what the servers read and wrote (INFO: total_reads_processed, total_writes_processed), from the first
client to the end of the last, greetings included; a message that is pushed counts as well.
"""

import functools
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time

from figures import figure, ratio
from line import gaps_ms, stamps
from setting import Candidate, end, quiet
from single import in_pairs, run_once
from store_servers import QuorumOf5  # which has brought tests/chaos to the path
from resp import Client

HERE = os.path.dirname(os.path.abspath(__file__))
FETCHED = os.path.join(HERE, "..", "..", "build", "interop")
COUNTS = (1, 3, 5)
HOLD_MS = 20
LIMIT = 30  # seconds, for one crowd
LIBRARIES = {
    "redsync": lambda addresses: [f"{FETCHED}/redsync/redsync", *addresses],
    "node-redlock": lambda addresses: ["node", f"{FETCHED}/node/driver.js", "redlock5",
                                       ",".join(addresses), "30000"],
}


class Servers(QuorumOf5):
    """Five; the first of so many are used."""

    def __init__(self, folder):
        super().__init__(tempfile.mkdtemp(dir=folder))

    def addresses(self, count):
        return [f"127.0.0.1:{port}" for port in self.ports[:count]]

    def messages(self, count):
        """So far, of those that live."""
        total = 0
        for number in range(count):
            if self.processes[number].poll() is None:
                with Client(("127.0.0.1", self.ports[number])) as client:
                    said = client.call("INFO", "stats")
                total += sum(int(line.split(":")[1]) for line in said.splitlines()
                             if line.startswith(("total_reads_", "total_writes_")))
        return total


def dlock(program, servers, count):
    return Candidate(f"dlock, {count} servers", lambda lock: [program, "run", "--quorum-delay", "0",
                                                              lock, "--"],
                     {"DLOCK_URL": " ".join(f"redis://{address}" for address in
                                           servers.addresses(count))}, "quorum")


class Library:
    """A process with as many actors as it is told of."""

    def __init__(self, name, addresses):
        self.process = subprocess.Popen(LIBRARIES[name](addresses), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.process.stdout.readline()  # it is ready

    def turns(self, actors, lock, times, hold_ms):
        """For each turn: when it asked, held, began to release, and had released, in microseconds. It
        is ended after the limit, with the turns that there were."""
        orders = [f"a{actor} turn {lock} {hold_ms}\n" for _ in range(times)
                  for actor in range(actors)]
        self.process.stdin.write("".join(orders))
        self.process.stdin.flush()
        limit = threading.Timer(LIMIT, self.process.kill)
        limit.start()
        said = [self.process.stdout.readline().split() for _ in orders]
        limit.cancel()
        if any("error" in words for words in said):
            raise SystemExit(f"bench: a library says {said}")
        return [[int(word) for word in words[4:]] for words in said if len(words) == 8]

    def close(self):
        end([self.process])


def alone(program, folder, amount):
    """One run of true with 1, 3 and 5 servers, in pairs with one server; of the libraries the two
    calls."""
    servers = Servers(folder)
    try:
        def run(count):
            one = dlock(program, servers, count)
            return lambda: run_once(one.command("alone", "true"), one.environment)[0]

        runs = {count: run(count) for count in COUNTS}
        base = runs.pop(1)
        pairs = in_pairs(base, runs, amount.rounds)
        result = {"dlock run, 1 server": {"ms": figure([a for both in pairs.values()
                                                        for a, _ in both])}}
        for count, both in pairs.items():
            result[f"dlock run, {count} servers"] = {"ms": figure([b for _, b in both]),
                                                     "x_one": ratio(both)}
        for name in LIBRARIES:
            result |= calls(name, servers, amount.rounds)
        return result
    finally:
        servers.stop()


def calls(name, servers, rounds):
    started = {count: Library(name, servers.addresses(count)) for count in COUNTS}
    try:
        def turn(count):
            def once():
                asked, held, ended, released = started[count].turns(1, "calls", 1, 0)[0]
                return (held - asked + released - ended) / 1e3
            return once

        pairs = in_pairs(turn(1), {count: turn(count) for count in COUNTS[1:]}, rounds)
        ones = [a for both in pairs.values() for a, _ in both]
        result = {f"{name}, its two calls, 1 server": {"ms": figure(ones)}}
        for count, both in pairs.items():
            result[f"{name}, its two calls, {count} servers"] = {
                "ms": figure([b for _, b in both]), "x_one": ratio(both)}
        return result
    finally:
        for one in started.values():
            one.close()


def idle_ms(events):
    """Of the holds, which are one after the other: from the end of a command to the next grant."""
    times = [event["boot_ns"] for event in map(json.loads, events)
             if event["event"] in ("granted", "reaped")]
    return gaps_ms(sorted(times))


def crowd_of_dlock(program, servers, stamp, count, clients):
    """How long the lock was idle, and how long no command ran, each ms; nothing: a client failed."""
    one = dlock(program, servers, count)
    with (tempfile.TemporaryDirectory(dir=servers.folder) as place,
          open(f"{place}/events", "a+", encoding="utf-8") as events):
        file = f"{place}/stamps"
        command = one.command(os.path.basename(place), stamp, file, str(HOLD_MS * 1000),
                              str(clients + 1))
        command[2:2] = ["-v", "--log-format", "json"]
        begin = time.monotonic()
        started = [quiet(command, one.environment, stderr=events) for _ in range(clients)]
        try:
            statuses = [process.wait(max(0.1, begin + LIMIT - time.monotonic()))
                        for process in started]
        except subprocess.TimeoutExpired:
            statuses = ["too slow"]
        finally:
            end(started)
        if any(statuses):
            return [], []
        events.seek(0)
        return idle_ms(events), gaps_ms(stamps(file))


def crowd_of_library(name, servers, count, clients):
    library = Library(name, servers.addresses(count))
    try:
        turns = sorted(library.turns(clients, "crowd", 1, HOLD_MS), key=lambda turn: turn[1])
        return [(after[1] - before[2]) / 1e3 for before, after in zip(turns, turns[1:])], []
    finally:
        library.close()


def of_crowd(crowd, servers, count, clients, rounds):
    all_idle, all_between, messages, grants = [], [], [], 0
    for _ in range(rounds):
        before = servers.messages(count)
        idle, between = crowd()
        if not idle:
            return {"failed": f"a client failed, or {LIMIT} s were not enough"}
        all_idle += idle
        all_between += between
        grants += len(idle) + 1
        messages.append((servers.messages(count) - before) / (len(idle) + 1))
    return {"grants": f"{grants} of {clients * rounds}", "idle_p50_ms": figure(all_idle),
            "idle_mean_ms": statistics.mean(all_idle), "between_p50_ms": figure(all_between),
            "messages": figure(messages)}


def crowds(program, stamp, folder, amount):
    """Each with all servers alive, and with the leader dead from the start; of dlock also with one
    server, which says what of its idle time is the quorum's."""
    result = {}
    for count in COUNTS:
        for dead in (False, True) if count > 1 else (False,):
            servers = Servers(folder)
            try:
                if dead:
                    servers.kill([servers.leader()])
                for clients in amount.crowd_sizes:
                    rounds = max(1, amount.crowd_turns // clients)
                    kinds = {"dlock": functools.partial(crowd_of_dlock, program, servers, stamp,
                                                        count, clients)}
                    kinds |= {name: functools.partial(crowd_of_library, name, servers, count,
                                                      clients) for name in LIBRARIES if count > 1}
                    for name, crowd in kinds.items():
                        row = of_crowd(crowd, servers, count, clients, rounds)
                        place = f"{count} server{'s' if count > 1 else ''}"
                        result[f"{place}{', leader dead' if dead else ''}, {clients} clients: "
                               f"{name}"] = {"kind": name, "servers": count, "dead": dead,
                                             "clients": clients, **row}
            finally:
                servers.stop()
    return result
