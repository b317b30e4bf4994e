# SPDX-License-Identifier: MIT
"""What it costs to wait, and to hold, while nothing happens."""

import os
import time

from setting import end, quiet

LEASE = 4  # seconds: it survives a machine that stands still for two


def descendants(pid):
    children = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
            for child in f.read().split():
                children += [int(child)] + descendants(int(child))
    return children


def private_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        return sum(int(line.split()[1]) for line in f
                   if line.startswith(("Private_Clean", "Private_Dirty")))


def used_ms(pid):
    """Processor time of all its threads so far, in milliseconds (schedstat, nanoseconds)."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e6


def look_at(pid):
    """Of a process with those it runs to do its work; they may come and go."""
    for _ in range(20):
        try:
            pids = [pid] + descendants(pid)
            return {"private_kib": sum(private_kib(p) for p in pids),
                    "threads": sum(len(os.listdir(f"/proc/{p}/task")) for p in pids),
                    "processes": len(pids)}
        except (FileNotFoundError, ProcessLookupError):
            time.sleep(0.02)
    return {"private_kib": None, "threads": None, "processes": None}


def end_with_command(process):
    """flock and the wrapper leave their command running when they are ended."""
    below = descendants(process.pid)
    end([process], 2)  # a shell waits for its command before it ends
    for pid in below:
        try:
            os.kill(pid, 15)
        except ProcessLookupError:
            pass


def waiter(one, servers, seconds):
    """One that waits: with the others' helpers, but without a guard, which only a command has."""
    holder = quiet(one.command("held", "sleep", "60"), one.environment)
    time.sleep(0.5)
    waiting = quiet(one.command("held", "true"), one.environment)
    time.sleep(1.5)
    try:
        sent, used, since = servers.sent(), used_ms(waiting.pid), time.monotonic()
        time.sleep(seconds)
        spent = time.monotonic() - since
        return {**look_at(waiting.pid), "cpu_ms_per_s": (used_ms(waiting.pid) - used) / spent,
                "commands_per_s": (servers.sent() - sent) / spent}
    finally:
        end([waiting])
        end_with_command(holder)


def holder(one, servers, ttls):
    """Commands that a holder sends in one lease, and its memory, the guard's included."""
    held = quiet([*one.command("kept")[:2], "--ttl", f"{LEASE}s", "-k", "100ms", "kept", "--",
                  "sleep", "60"], one.environment)
    time.sleep(1)
    try:
        sent = servers.sent()
        time.sleep(LEASE * ttls)
        commands = (servers.sent() - sent) / ttls
        below = [pid for pid in descendants(held.pid)]
        guards = [pid for pid in below if comm(pid) == "lease-guard"]
        return {"commands_per_ttl": commands, "private_kib": private_kib(held.pid),
                "guard_private_kib": private_kib(guards[0]) if guards else None}
    finally:
        end_with_command(held)


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        return f.read().strip()
