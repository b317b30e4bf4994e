# SPDX-License-Identifier: MIT
"""What it costs to wait, and to hold, while nothing happens."""

import os
import time

from figures import figure
from machine import pss_kib
from setting import descendants, end, end_all, quiet

LEASE = 4  # seconds: it survives a machine that stands still for two
RENEWED_EVERY = 10  # seconds, with the default lease


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
        end_all([holder], 2)  # a shell waits for its command before it ends


def wakeups(pid):
    """How often its threads have gone to sleep so far: for each of them they were woken."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as f:
            total += next(int(line.split()[1]) for line in f
                          if line.startswith("voluntary_ctxt_switches"))
    return total


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        return f.read().strip()


def guard_of(pid):
    return next(below for below in descendants(pid) if comm(below) == "lease-guard")


def kept(one, servers, lease, renewals):
    """A holder with this lease, during so many renewals of it, of which each comes in the middle
    between two looks; and what it sends before and after."""
    before = servers.sent()
    held = quiet([*one.command("kept")[:2], "--ttl", f"{lease}s", "-k", "100ms", "kept", "--",
                  "sleep", "600"], one.environment)
    time.sleep(2)  # it watches its lock after the first one
    try:
        guard = guard_of(held.pid)

        def look():
            return {"commands": servers.sent(), "wakeups": wakeups(held.pid),
                    "guard_wakeups": wakeups(guard)}

        pss, first = pss_kib(held.pid), look()
        time.sleep(renewals * lease / 3)
        last = look()
        result = {name: last[name] - first[name] for name in first}
        result.update(pss_kib=pss_kib(held.pid), guard_pss_kib=pss_kib(guard), seconds=renewals
                      * lease / 3, renewals=renewals, begin=first["commands"] - before)
        result["grown_kib"] = result["pss_kib"] - pss
        before = servers.sent()
    finally:
        end_all([held], 2)
    return {**result, "end": servers.sent() - before}


def holder(one, servers, renewals):
    """What one renewal and one second cost, from two holders; a minute, an hour and a day of one
    with the default lease follow from that."""
    often, seldom = (kept(one, servers, lease, renewals // (lease // LEASE))
                     for lease in (LEASE, 2 * LEASE))
    once = {"commands": seldom["begin"] + seldom["end"]}
    per_renewal, per_second = {}, {}
    for name in ("commands", "wakeups", "guard_wakeups"):
        each = (often[name] - seldom[name]) / (often["renewals"] - seldom["renewals"])
        per_renewal[name] = max(0.0, each)
        rest = seldom[name] - per_renewal[name] * seldom["renewals"]
        per_second[name] = max(0.0, rest / seldom["seconds"])
    memory = {name: figure([often[name], seldom[name]]) for name in ("pss_kib", "guard_pss_kib")}
    result = {"begin and end": once,
              "a renewal": {**per_renewal, "pss_kib": often["grown_kib"] / often["renewals"]},
              "a second besides": per_second}
    for name, seconds in (("a minute", 60), ("an hour", 3600), ("a day", 86400)):
        count = (seconds - 1) // RENEWED_EVERY
        result[name] = {what: round(once.get(what, 0) + per_renewal[what] * count
                                    + per_second[what] * seconds) for what in per_renewal}
        result[name].update(memory)
    return result
