# SPDX-License-Identifier: MIT
"""What a waiter and a holder cost in each store while nothing happens. All are started at once, and
looked at twice."""

import os
import time

import traffic
from idle import private_kib, wakeups
from setting import descendants, end_all, quiet
from store_servers import command_of

LEASE = 6  # seconds, of the holder that is looked at


class Watched:
    """A process with those that it runs to do its work; its command, `idle`, is none of them."""

    def __init__(self, one, idle, *command):
        self.process = quiet(one.command(*command), one.environment)
        self.idle = idle

    def pids(self):
        found = [self.process.pid, *descendants(self.process.pid)]
        return [pid for pid in found if command_of(pid) != self.idle]

    def look(self, connections):
        pids = self.pids()
        return {"pids": set(pids), "connections": connections, "wakeups": sum(map(wakeups, pids))}

    def figures(self, first, last, share):
        """Of what it did between two looks, this share."""
        counts = traffic.between(first["connections"], last["connections"], last["pids"])
        return {**{name: count * share for name, count in counts.items()},
                "bytes": (counts["sent"] + counts["received"]) * share,
                "wakeups": (last["wakeups"] - first["wakeups"]) * share,
                "descriptors": sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in last["pids"]),
                "kib": sum(map(private_kib, last["pids"]))}


def rest(stores, amount):
    """name -> the figures of a waiter in a minute, and of a holder in one lease."""
    rows, seconds = stores.rows, amount.store_seconds
    started = []
    try:
        for one in rows:
            started.append(Watched(one, "sleep", "held", "sleep", "600"))
        time.sleep(1.5)  # a waiter needs a lock that is held
        waiters = [Watched(one, "true", "held", "true") for one in rows]
        started += waiters
        holders = [Watched(one.leased(LEASE), "sleep", "kept", "sleep", "600") for one in rows]
        started += holders
        time.sleep(3 if seconds < 10 else 10)  # who comes to wait may look often at first
        looked = traffic.connections()
        first = [each.look(looked) for each in waiters + holders]
        since = time.monotonic()
        time.sleep(seconds)
        looked, spent = traffic.connections(), time.monotonic() - since
        last = [each.look(looked) for each in waiters + holders]
        result = {}
        for number, one in enumerate(rows):
            result[one.name] = {}
            for role, each, at, share in (
                    ("waiter", waiters[number], number, 60 / spent),
                    ("holder", holders[number], number + len(rows), LEASE / spent)):
                found = each.figures(first[at], last[at], share)
                result[one.name] |= {f"{role}_{name}": value for name, value in found.items()}
            result[one.name]["survives"] = one.survives
        return result
    finally:
        end_all([each.process for each in started], 10)
