# SPDX-License-Identifier: MIT
"""Who waits in line, in order and not for ever: I15, I16, I20 on a history. What a single script
may do to the line is looked at in line.py; here it is how waiters fare who have no part in a
fault."""
from history import SECOND, Violation
from rooms import Rooms

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
    return not any(a < end and b + SECOND / 2 > start for a, b in history.late + history.slow)


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


def living_waits(history):
    """(span, run, how long it may be) of all waiters who lived and were connected."""
    find = run_of(history)
    for span in Rooms(history, find).spans():
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
            yield Violation("I16", span.end, f"{run.id} stood in line and lived, and there was "
                            f"room for it for {(span.end - span.start) / SECOND:.2f} s",
                            span.stand.lock)


def of_the_living(history):
    """How often a lock was free with somebody in line who lived, and for how long at most, in s."""
    times = [(s.end - s.start) / SECOND for s, *_ in living_waits(history)]
    return len(times), max(times, default=0)


def i20_writers(history):
    """Whoever holds alone waits for the readers before it, and for no others: a reader that came
    later has its turn after it, so the turns that it waits for are counted when it comes."""
    yield from (v for v in history.store_violations if v.rule == "I20")
    if history.kind != "G":
        return
    find = run_of(history)
    came = {}
    for stand in history.stands:
        came.setdefault((stand.lock, stand.id), stand.since)
    readers = {}
    for held in history.held:
        if held.mode == "shared" and not held.owner.endswith("#kept"):
            readers.setdefault(held.lock, []).append(held)
    ids = {(at, lock): hold for at, lock, hold, _ in history.grants}
    for stand in history.stands:
        if stand.mode == "shared" or not healthy(history, stand, find(stand), stand.since,
                                                 stand.end or stand.since):
            continue
        for held in readers.get(stand.lock, ()):
            hold = ids.get((held.start, held.lock), held.owner)
            if stand.since < held.start < stand.end and \
               came.get((stand.lock, hold), held.start) > stand.since:
                yield Violation("I20", held.start, f"{find(stand).id} waited to be alone, and "
                                f"{hold[:60]} came later and read first", stand.lock)
