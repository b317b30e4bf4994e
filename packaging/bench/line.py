# SPDX-License-Identifier: MIT
"""The hand-off: from the end of one command to the begin of the next, and what it costs the server.

The time is counted from the last instant of a command to the first one of the next, so it holds
all that lies between: the end seen, the release, its message, the claim of the next one, its fork
and exec. What the release alone takes is less.
"""

import os
import statistics
import subprocess
import time

from setting import end, quiet

PAUSE_US = 60_000  # so long a command runs while the next one comes to wait: etcdctl needs 15 ms
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
    return {"p50_ms": cents[49], "p99_ms": cents[98], "max_ms": max(gaps), "handoffs": len(gaps)}


def two_in_turns(one, stamp, file, lock, wanted):
    """Two lanes: while one runs its command, the other comes to wait; not sooner, or it could be
    faster than one that waits by looking again and again. Gaps between `wanted` + 1 of them."""
    command = one.command(lock, stamp, file, str(PAUSE_US), str(wanted + 100))
    until = time.monotonic() + 10 + wanted * 0.5
    lanes = [quiet(command, one.environment) for _ in range(2)]
    try:
        while len(times := stamps(file)) <= 2 * wanted + 2:
            if time.monotonic() > until:
                return []
            for i, lane in enumerate(lanes):
                if len(times) % 2 == 1 and lane.poll() is not None:
                    lanes[i] = quiet(command, one.environment)
            time.sleep(0.001)
    finally:
        end(lanes)
    return gaps_ms(times)[1:]  # when the first one ends, nobody may wait yet


def one_waiter(found, stamp, folder, wanted, chunk=10):
    """In turns, a few hand-offs at a time."""
    gaps = {one.name: [] for one in found}
    for turn in range(max(1, wanted // chunk)):
        for number, one in enumerate(found):
            # Of the others a quarter is enough: they take longer, and are not what we look at.
            if turn % 4 != 0 and one.name not in ("dlock", "dlock, unix socket"):
                continue
            file = f"{folder}/stamps.{number}.{turn}"
            gaps[one.name] += two_in_turns(one, stamp, file, f"turns{turn}", chunk)
    return {name: summary(g) if len(g) > 1 else {"failed": "too slow"} for name, g in gaps.items()}


def wait_until(what, limit):
    until = time.monotonic() + limit
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def start_line(one, servers, command, count):
    """Starts them gently, and waits until all of them wait."""
    connected = int(servers.info("clients")["connected_clients"])
    waiting = []
    for i in range(count):
        waiting.append(quiet(command, one.environment))
        if i % 10 == 9:
            time.sleep(0.03)
    clients = connected + count
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


def many_waiters(one, servers, stamp, folder, count, window=WINDOW):
    """Hand-offs with `count` waiters on average: the line is longer at first and shorter at last.
    What so many send when nothing happens is counted before, for as long, and taken off."""
    wanted = min(HANDOFFS, max(10, count * 2 // 5), count)
    file = f"{folder}/line.{count}"
    lock = f"line{count}"
    held = f"{folder}/held.{count}"
    holder = quiet(one.command(lock, "sh", "-c", 'touch "$0"; exec cat', held), one.environment,
                   stdin=subprocess.PIPE)
    waiting = []
    try:
        if not wait_until(lambda: os.path.exists(held), 20):
            return {"failed": "the holder does not hold"}
        command = one.command(lock, stamp, file, str(BRIEF_US), str(wanted))
        waiting, here = start_line(one, servers, command, count + wanted // 2)
        if not here:
            return {"failed": f"not all of {len(waiting)} came to wait"}
        idle, seconds = sent_meanwhile(servers, window)
        idle /= seconds
        sent, seconds = sent_meanwhile(servers, window, holder.stdin.close,
                                       lambda: len(stamps(file)) >= 2 * wanted)
        gaps = gaps_ms(stamps(file))
        if len(gaps) < 2:
            return {"failed": f"not one hand-off a second with {count} waiters"}
        left = 1 - (len(gaps) + 1) / len(waiting)  # it is over soon after the window has begun
        net = max(0.0, sent - idle * seconds * left)
        return {**summary(gaps), "waiters": count,
                "commands_per_handoff": net / (len(gaps) + 2),
                "idle_commands_per_waiter_s": idle / len(waiting)}
    finally:
        end(waiting[::-1] + [holder])
