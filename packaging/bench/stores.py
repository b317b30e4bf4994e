# SPDX-License-Identifier: MIT
"""What locks cost in each store, beside flock and what the servers have themselves: alone, in a
crowd, with one waiter, and in a line."""

import json
import subprocess
import time

import line
import single
from line import Line, wait_until

WAITERS = (10, 100)


def with_others(rows, result):
    """In the order of the rows, with what a grant outlives."""
    return {one.name: {"survives": one.survives, **result.get(one.name, {})} for one in rows
            if one.name in result}


def costs(stores, stamp, folder, amount):
    """name -> the three figures that matter to a user."""
    rows = stores.rows[:1] + [one for one in stores.rows[1:] if one.store]
    rows += stores.once() + [one for one in stores.rows[1:] if not one.store
                             and (amount.store_crowds or not one.pause_us)]  # quick: no slow ones
    alone = single.uncontended(rows, max(3, amount.rounds // 3))
    crowds = single.contended(rows, amount.store_crowds)
    turns = line.one_waiter(rows, stamp, folder, max(1, amount.handoffs // 2))
    result = {}
    for one in rows:
        crowd, turn = crowds.get(one.name, {}), turns.get(one.name, {})
        result[one.name] = {**alone[one.name], "runs_per_s": crowd.get("runs_per_s"),
                            "crowd_x_flock": crowd.get("x_flock"), "p50_ms": turn.get("p50_ms", turn.get("failed")),
                            "turn_x_flock": turn.get("x_flock"), "p99_ms": turn.get("p99_ms"),
                            "settings": one.settings}
    return with_others(rows, result)


def waiting(one, lock):
    """How many wait, as dlock says."""
    said = subprocess.run([one.program, "inspect", "--json", lock], env=one.environment,
                          capture_output=True, check=False, timeout=20).stdout
    return json.loads(said)["locks"][0]["waiting"] if said else 0


def start(one, lock):
    """For Line.come()."""
    def begin(command, number):
        started = line.start_gently(one, command, number)
        if one.store:
            return started, wait_until(lambda: waiting(one, lock) >= number, 60)
        time.sleep(1 + number * (one.pause_us or line.PAUSE_US) / 1e6 / 2)
        return started, all(process.poll() is None for process in started)
    return begin


def hand_offs(one, stamp, folder, count, rounds):
    gaps = []
    for round_ in range(rounds):
        name = f"{one.word}-{count}-{round_}"
        row = Line(one, stamp, folder, name, count, count)
        try:
            failed = row.come(start(one, name))
            if failed:
                return {"failed": failed}
            row.begin()
            if not wait_until(row.is_over, 10 + count / 5):
                return {"failed": f"{len(row.gaps_ms())} hand-offs in {10 + count / 5:.0f} s"}
            gaps += row.gaps_ms()
        finally:
            row.stop()
    return line.summary(gaps)


def lines(stores, stamp, folder, amount):
    """name -> hand-offs with 10 and with 100 waiters."""
    flock, result = stores.rows[0], {}
    for one in stores.rows:
        result[one.name] = {}
        for count in WAITERS:
            if one.pause_us and count > 10:
                continue  # so many interpreters are no line, but a full machine
            rounds = max(1, amount.line // count)
            found = line.beside_flock(
                flock, stamp, folder, f"{one.word}-{count}",
                lambda one=one, count=count, rounds=rounds: hand_offs(one, stamp, folder, count,
                                                                      rounds))
            if "failed" in found:
                result[one.name][f"of_{count}_p50_ms"] = found["failed"]
            else:
                result[one.name] |= {f"of_{count}_{figure}": found[figure]
                                     for figure in ("p50_ms", "x_flock", "p99_ms")
                                     if figure in found}
    return with_others(stores.rows, result)
