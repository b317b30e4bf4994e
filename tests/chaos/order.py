# SPDX-License-Identifier: MIT
"""Who waits in line, in order and not for ever: I15, I16 on a history. What a single script may
do to the line is looked at in line.py; here it is how waiters fare who have no part in a fault."""
from dataclasses import dataclass

from history import SECOND, Violation

# Frozen ones before a waiter have a second each for their turn; who comes behind the second of them
# is told of nothing, and finds out by the beat of three seconds at most.
PASSES = 4.3 * SECOND
TOLD = 1.3 * SECOND        # for a waiter with nobody frozen before it: one lost turn, at worst
UNTOLD = 3.3 * SECOND      # and after a lease that ended by itself: its beat
# How long after a fault a client may still feel it: who has lost an answer or a message without
# knowing waits for its limit, or for the next beat. Sooner, if it has been heard of since: it asks,
# listens, asks again. Who came after the fault listened before.
FELT = 6 * SECOND
HARMLESS = {"script-flush", "revoke", "release-now", "del", "overwrite", "guard-stop", "guard-kill",
            "duplicate"}


@dataclass
class Span:
    """A time in which a waiter stood in line and the lock was free."""
    start: int
    end: int
    stand: object
    ahead: list      # the stands before it
    told: bool       # the lock was given back


def run_of(history):
    """stand id: its run. An owner ends with the pid of its dlock; one that a nested run has made
    is nobody's."""
    by_pid = {}
    for run in history.runs:
        by_pid.setdefault(run.pid, []).append(run)

    def find(stand):
        pid = stand.id.split("#")[0].rsplit(":", 1)[-1]
        return next((r for r in by_pid.get(int(pid) if pid.isdigit() else 0, ())
                     if r.start <= stand.since and (not r.end or stand.since <= r.end)), None)
    return find


def healthy(history, stand, run, start, end):
    """It waited, and nothing was wrong with this client, its network or the server in that time. A
    late copy of its request may stand there when it has long had the lock, or is gone."""
    if run is None or (run.end and run.end < end) or any(
            e["boot_ns"] < end for e in run.said("granted")):
        return False
    for fault in history.faults:
        if fault.kind not in HARMLESS and fault.start < end and felt_until(fault, stand) > start \
           and fault.target.split()[0] in (str(run.client), "*", "server"):
            return False
    return not any(a < end and b + SECOND / 2 > start for a, b in history.late)


def felt_until(fault, stand):
    if not fault.end:
        return float("inf")
    beats = [b for b in stand.beats if b > fault.end]
    if fault.end < stand.since:
        return fault.end
    return min(fault.end + FELT, *beats[1:2], float("inf"))


def i15_order(history):
    yield from (v for v in history.store_violations if v.rule == "I15")
    if history.kind != "G":
        return
    find = run_of(history)
    for stand in history.stands:
        if stand.how in ("late", "deaf") and healthy(history, stand, find(stand),
                                                     stand.end - SECOND, stand.end):
            yield Violation("I15", stand.end, f"{find(stand).id} lost its place in line ("
                            f"{stand.how}), and nothing was wrong with it", stand.lock)


def free_spans(history):
    """All Spans. A lock is free before its first holder, between two, and behind the last."""
    for lock in history.locks():
        held = sorted((h.start, h.end or float("inf"), h.how == "released") for h in history.held
                      if h.lock == lock)
        stands = sorted((s for s in history.stands if s.lock == lock), key=lambda s: s.since)
        free, edge, told = [], 0, False
        for start, end, released in [*held, (float("inf"), float("inf"), False)]:
            if start > edge:
                free.append((edge, start, told))
            if end > edge:
                edge, told = end, released
        for stand in stands:
            for start, end, told in free:
                start, end = max(start, stand.since), min(end, stand.end or start)
                if start < end:
                    ahead = [s for s in stands if s.since < stand.since and
                             (s.end or float("inf")) > start]
                    yield Span(start, end, stand, ahead, told)


def living_waits(history):
    """(span, run, how long it may be) of all waiters who lived and were connected."""
    find = run_of(history)
    for span in free_spans(history):
        run = find(span.stand)
        if healthy(history, span.stand, run, span.start, span.end):
            frozen = sum(not healthy(history, s, find(s), span.start, span.end) for s in span.ahead)
            yield span, run, (TOLD if span.told else UNTOLD) + frozen * PASSES


def i16_starvation(history):
    yield from (v for v in history.store_violations if v.rule == "I16")
    if history.kind != "G":
        return
    for span, run, most in living_waits(history):
        if span.end - span.start > most:
            yield Violation("I16", span.end, f"{run.id} stood in line and lived, and the lock was "
                            f"free for {(span.end - span.start) / SECOND:.2f} s", span.stand.lock)


def of_the_living(history):
    """How often a lock was free with somebody in line who lived, and for how long at most, in s."""
    times = [(s.end - s.start) / SECOND for s, *_ in living_waits(history)]
    return len(times), max(times, default=0)
