# SPDX-License-Identifier: MIT
"""The hand-off: from the end of one command to the begin of the next, and what it costs the server.

The time is counted from the last instant of a command to the first one of the next, so it holds
all that lies between: the end seen, the release, its message, the claim of the next one, its fork
and exec. What the release alone takes is less.
"""

import os
import statistics
import time

from figures import figure, median, ratio
from setting import end, end_all, quiet

PAUSE_US = 20_000  # so long a command runs while the next one comes to wait
LONG_PAUSE_US = 60_000  # the same for large programs: etcdctl needs 15 ms
CHUNK = 10  # hand-offs in one half of a pair
BRIEF_US = 5_000  # in a long line, where all wait already
HANDOFFS = 300  # counted in a long line: many, to stand out from what the waiters send anyway
WINDOW = 6.0  # seconds for which commands are counted: a multiple of how often who waits sends one


def stamps(file):
    """Begin, end, begin, end … of the commands so far, in nanoseconds."""
    if not os.path.exists(file):
        return []
    with open(file, encoding="ascii") as lines:
        return [int(line) for line in lines if len(line) == 20]


def gaps_ms(times):
    return [(begin - end) / 1e6 for end, begin in zip(times[1::2], times[2::2])]


def summary(gaps):
    cents = statistics.quantiles(gaps, n=100, method="inclusive")
    return {"p50_ms": figure(gaps), "p99_ms": cents[98], "max_ms": max(gaps),
            "handoffs": len(gaps)}


def two_in_turns(one, stamp, file, lock, pause, wanted=CHUNK):
    """Two lanes: while one runs its command, the other comes to wait; not sooner, or it could be
    faster than one that waits by looking again and again. Gaps between `wanted` + 1 of them."""
    command = one.command(lock, stamp, file, str(pause), str(wanted + 100))
    until = time.monotonic() + 10 + wanted * 0.5
    lanes = [quiet(command, one.environment) for _ in range(2)]
    alone = {0}  # hand-offs for which no process may have waited yet: the first
    try:
        while len(times := stamps(file)) <= 2 * wanted + 2:
            if time.monotonic() > until:
                return []
            ended = [i for i, lane in enumerate(lanes) if lane.poll() is not None]
            if len(ended) == len(lanes):  # this machine was late
                alone.add(len(times) // 2 - 1)
            for i in ended:
                if len(times) % 2 == 1 or len(ended) == len(lanes):
                    lanes[i] = quiet(command, one.environment)
            time.sleep(0.001)
    finally:
        end(lanes)
    return [gap for i, gap in enumerate(gaps_ms(times)) if i not in alone]


def one_waiter(found, stamp, folder, rounds):
    """A few hand-offs of flock, as many of another, and so on. Of large programs a tenth."""
    flock, others = found[0], found[1:]
    gaps, pairs = {one.name: [] for one in found}, {one.name: [] for one in others}
    for turn in range(rounds):
        for number, one in enumerate(others):
            if not one.store and turn % 10 != 0:
                continue
            pause = one.pause_us or (PAUSE_US if one.store else LONG_PAUSE_US)
            file = f"{folder}/stamps.{number}.{turn}"
            both = [two_in_turns(each, stamp, f"{file}.{each.word}", f"turns{turn}", pause)
                    for each in (flock, one)]
            if all(both):
                gaps["flock"] += both[0]
                gaps[one.name] += both[1]
                pairs[one.name].append([statistics.median(half) for half in both])
    result = {name: summary(g) if len(g) > 1 else {"failed": "too slow"}
              for name, g in gaps.items()}
    for name, both in pairs.items():
        if both:
            result[name]["x_flock"] = ratio(both)
    return result


def wait_until(what, limit):
    until = time.monotonic() + limit
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def start_gently(one, command, count):
    waiting = []
    for i in range(count):
        waiting.append(quiet(command, one.environment))
        if i % 10 == 9:
            time.sleep(0.03)
    return waiting


def start_line(one, servers, command, count):
    """Starts them gently, and waits until all of them wait."""
    clients = int(servers.info("clients")["connected_clients"]) + count
    waiting = start_gently(one, command, count)
    here = wait_until(lambda: int(servers.info("clients")["connected_clients"]) >= clients, 20)
    time.sleep(1)
    return waiting, here


def sent_meanwhile(servers, window, action=lambda: None, over=lambda: True):
    """How many commands clients send in `window` seconds, at whose begin `action` is, and how many
    seconds it was: more, if it is not `over` then."""
    begin, before = time.monotonic(), servers.sent()
    action()
    time.sleep(max(0.0, begin + window - time.monotonic()))
    wait_until(over, 20)
    return servers.sent() - before, time.monotonic() - begin


def beside_flock(flock, stamp, folder, name, measured):
    """What measured() says, between two chunks of hand-offs from flock to flock."""
    def of_flock(when):
        return two_in_turns(flock, stamp, f"{folder}/{name}.{when}", f"{name}-{when}", PAUSE_US)

    before = of_flock("before")
    result = measured()
    base = before + of_flock("after")
    if "failed" not in result and base:
        result["x_flock"] = result["p50_ms"]["median"] / median(figure(base))
    return result


def hold(folder):
    """A command `hold FILE GATE`: makes the file, and ends once the other one has been opened."""
    path = f"{folder}/hold"
    if not os.path.exists(path):
        with open(path, "w", encoding="ascii") as script:
            script.write('#!/bin/sh\n: >"$1"\nexec cat "$2"\n')
        os.chmod(path, 0o755)
    return path


class Line:
    """A holder, and processes that come to wait behind it. As many as `wanted` have their turn, and
    half as many come more than `count`: so `count` wait on average."""

    def __init__(self, one, stamp, folder, name, count, wanted):
        self.one, self.count, self.wanted = one, count, wanted
        self.file, self.held, self.gate = (f"{folder}/{kind}.{name}"
                                           for kind in ("stamps", "held", "gate"))
        self.command = one.command(name, stamp, self.file, str(BRIEF_US), str(wanted))
        os.mkfifo(self.gate)  # not standard input, which the scripts of others lose
        self.holder = quiet(one.command(name, hold(folder), self.held, self.gate), one.environment)
        self.waiting = []

    def come(self, start):
        """start(command, number) says who waits, and whether all do. What failed, or nothing."""
        if not wait_until(lambda: os.path.exists(self.held), 20):
            return "the holder does not hold"
        self.waiting, here = start(self.command, self.count + self.wanted // 2)
        return "" if here else f"not all of {len(self.waiting)} came to wait"

    def begin(self):
        os.close(os.open(self.gate, os.O_WRONLY | os.O_NONBLOCK))

    def is_over(self):
        return len(stamps(self.file)) >= 2 * self.wanted

    def gaps_ms(self):
        return gaps_ms(stamps(self.file))

    def stop(self):
        end_all(self.waiting[::-1] + [self.holder])


def many_waiters(one, servers, stamp, folder, count, window=WINDOW):
    """Hand-offs with `count` waiters. What so many send when nothing happens is counted before, for
    as long, and taken off."""
    wanted = min(HANDOFFS, max(10, count * 2 // 5), count)
    line = Line(one, stamp, folder, f"line{count}", count, wanted)
    try:
        failed = line.come(lambda command, number: start_line(one, servers, command, number))
        if failed:
            return {"failed": failed}
        idle, seconds = sent_meanwhile(servers, window)
        idle /= seconds
        sent, seconds = sent_meanwhile(servers, window, line.begin, line.is_over)
        gaps = line.gaps_ms()
        if len(gaps) < 2:
            return {"failed": f"not one hand-off a second with {count} waiters"}
        left = 1 - (len(gaps) + 1) / len(line.waiting)  # it is over soon after the window has begun
        net = max(0.0, sent - idle * seconds * left)
        return {**summary(gaps), "waiters": count,
                "commands_per_handoff": net / (len(gaps) + 2),
                "idle_commands_per_waiter_s": idle / len(line.waiting)}
    finally:
        line.stop()
