#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The checks, checked: each invariant gets a history that is right and histories that are wrong by
hand, and I1 and I2 are compared with brute force over all small histories. Runs in seconds, without
any server; the last line is "N passed, N failed"."""
import itertools
import sys

import selftest_line
import selftest_modes
import selftest_ways
from byhand import (Stream, at, failed, follow, good, green, history_of, passed, red, rules_of,
                    section, stored, test)
from checks import RULES, check
from exclusion import Section, overlapping
from history import MS, SECOND, Held
from monitor import Clock


def hand_written():
    test("a right history has no violation", rules_of(good()) == set())
    test("nor in class B", rules_of(good("B")) == set())

    def overlap(history):
        first = history.runs[0]
        first.notes.append((at(35), 2, ["tick"]))
        first.end, history.held[0].end = at(60), at(36)
        history.held[0].released = 0
    red("two at once", "I1", overlap)
    green("two at once for a while in class B", overlap, "B")
    red("a section before its grant", "I1", lambda h: setattr(h.held[0], "start", at(15)))

    def granted_twice(history):
        history.held.insert(0, Held("a", "owner-r2", at(-2000), at(-1000), "expired"))
        history.held.append(Held("a", "owner-r2", at(90), at(1090), "expired"))
    green("a grant whose answer was lost, and a late copy", granted_twice)

    def outlives_lock(history):
        history.held[1].end, history.held[1].how, history.held[1].released = at(35), "expired", 0
    red("a section longer than the store kept the lock", "I1", outlives_lock)

    def starved(history):
        outlives_lock(history)
        history.late = [(at(-60), at(60))]
    green("the same on a machine that gave nobody a turn", starved)

    def late_for_a_moment(history):
        outlives_lock(history)
        history.late = [(at(36), at(58))]
    red("the same on one that was late for a moment", "I1", late_for_a_moment)
    red("the same where the disk was late", "I1", lambda h: (
        outlives_lock(h), h.slow.append((at(-60), at(60)))))
    red("a refused write", "I1", lambda h: h.writes["a"].append((11, "r1", False)))

    def swapped(history):
        history.grants = [(t, lock, hold, 23 - token) for t, lock, hold, token in history.grants]
    red("tokens that fall", "I2", swapped)
    def stale(history):
        history.runs[1].notes[0][2][1] = "10"
        history.grants[1] = (*history.grants[1][:3], 10)
        history.writes["a"] = []
    red("a token of long ago", "I2", stale)
    red("the same after the store lost its data", "I2", stale, "B")
    red("a token twice", "I2", lambda h: h.grants.append((at(60), "a", "x#1", 12)))
    red("a token from nowhere", "I2", lambda h: h.grants.pop(0))
    red("a smaller token accepted", "I3", lambda h: h.writes["a"].append((11, "r1", True)))

    def after_deadline(history):
        history.runs[1].events[0]["safe_until_ns"] = at(45)
    red("a tick after safe_until", "I4", after_deadline)
    red("the same in class B", "I4", after_deadline, "B")

    def leased(ms):
        return lambda h: h.leases.update({("a", "owner-r1"): [(at(-1.5), at(ms))]})
    red("a safe_until that the lease does not carry", "I4", leased(990))
    green("one that it does", leased(999))

    def renewed_late(history):
        after_deadline(history)
        history.runs[1].events.append({"boot_ns": at(49), "event": "renewed",
                                       "safe_until_ns": at(1029)})
    red("a renewal that came later does not help", "I4", lambda h: (
        renewed_late(h), h.runs[1].notes.insert(3, (at(47), 1, ["tick"]))))

    def renewed_in_time(history):
        renewed_late(history)
        history.runs[1].events[-1]["boot_ns"] = at(44)
    green("a renewal before the old safe_until", renewed_in_time)

    def told(event):
        return lambda h: (h.runs[0].events.append({"boot_ns": at(20), "event": event}),
                          setattr(h.runs[0], "status", 79 if event == "lost" else 0))
    red("told that it is lost, by its own log", "I5", told("lost"))
    red("the same at the release", "I5", told("lost_at_release"))
    red("told that it is lost, by the store", "I5",
        lambda h: h.told_lost.append((at(20), "a", "owner-r1#1")))
    green("the same in class B", lambda h: h.told_lost.append((at(20), "a", "owner-r1#1")), "B")
    green("the same after its safe_until",
          lambda h: h.told_lost.append((at(2000), "a", "owner-r1#1")))

    def removed(after):
        def change(history):
            first = history.runs[0]
            first.events.append({"boot_ns": at(300), "event": "renewed", "safe_until_ns": at(1300)})
            first.notes.append((at(5 + after), 1, ["tick"]))
            first.end = at(2000)
            history.held[0].end, history.held[0].how, history.held[0].released = at(5), "removed", 0
        return change
    bound = good().terms.bound / MS
    red("a section that outlives its lost lock for long", "I6", removed(bound + 1), "B")
    green("one that does so within the bound", removed(bound - 1), "B")

    red("a section that outlives dlock", "I8", lambda h: setattr(h.runs[0], "end", at(19)))
    red("one that is still alive", "I8", lambda h: setattr(h.runs[0], "alive", [7]))

    def killed(after):
        def change(history):
            first = history.runs[1]
            first.end, first.status, first.sent = at(35), -9, [(at(35), 9)]
            first.notes[-1] = (at(35 + after), 1, ["tick"])
            history.held[1].end = history.held[1].released = 0
        return change
    red("one long after dlock was killed", "I8", killed(600))
    green("one just after dlock was killed", killed(60))

    def never(status, outcome):
        return lambda h: (setattr(h.runs[0], "status", status),
                          setattr(h.runs[0], "result", {"outcome": outcome}))
    red("a start after giving up", "I9", never(75, "busy"))
    red("a start after a refusal", "I9", never(69, "failed"))
    red("a start after a signal", "I9", lambda h: (
        never(-15, "signalled")(h), h.runs[0].sent.append((at(5), 15))))

    red("0 for a command that ends with 7", "I10", lambda h: setattr(h.runs[0], "child_code", 7))
    red("0 for a command that did not end", "I10", lambda h: h.runs[0].notes.pop())
    red("79 without a loss", "I10", lambda h: setattr(h.runs[0], "status", 79))
    red("0 after a stop", "I10", lambda h: h.runs[0].events.append(
        {"boot_ns": at(19), "event": "lapsing"}))
    red("another code in its result file", "I10", lambda h: h.runs[0].result.update(
        outcome="child", exit_code=7))
    red("another token there", "I10", lambda h: h.runs[0].result.update(outcome="child", token=9))
    red("a loss there and 0 outside", "I10", lambda h: h.runs[0].result.update(outcome="lost"))
    red("killed by nobody", "I10", lambda h: setattr(h.runs[0], "status", -15))

    red("a lost addition", "I11", lambda h: h.sums.update(a=1))
    green("a section killed while it wrote", lambda h: (
        h.runs[1].notes.__delitem__(slice(-2, None)), setattr(h.runs[1], "status", -9),
        h.runs[1].sent.append((at(49), 9)), h.sums.update(a=1)))
    red("a recorder that loses sections", "I11", lambda h: h.counts.update(a=1))
    red("a lock that does not heal", "I12", lambda h: h.healing.append((at(0), "a", "stuck")))
    red("a release before the end", "I13", lambda h: (
        setattr(h.held[0], "released", at(10)), setattr(h.held[0], "end", 0)))
    red("two starts", "I14", lambda h: h.runs[0].notes.insert(1, (at(1), 3, [
        "begin", "11", "owner-r1"])))


def hand_written_store():
    one = Stream().acquire("A", 5).after(300).renew("A").after(100).release("A")
    stored("a right life", one.acquire("B", 6).release("B"))
    history = follow(one)
    test("store: its holds", [(h.owner, h.how) for h in history.held] == [
        ("A", "released"), ("B", "released")])
    close = follow(Stream().acquire("A", 5).after(2).renew("A"))
    test("store: leases that are set soon after each other", len(close.leases["a", "A"]) == 2)
    stored("a grant after the expiry", Stream().acquire("A", 5).after(1001).acquire("B", 6))
    stored("a grant while held", Stream().acquire("A", 5).after(900).acquire("B", 6), "I7")
    stored("a token that falls", Stream().acquire("A", 5).release("A").acquire("B", 5), "I2")
    stored("a lock without expiry", Stream().acquire("A", 5, ttl=None), "I7")
    stored("a lease that is not ours to choose", Stream().acquire("A", 5, ttl="30000"), "I7")
    stored("a renewal by another", Stream().acquire("A", 5).renew("B"), "I7")
    stored("a renewal after the release", Stream().acquire("A", 5).release("A").renew("A"), "I7")
    refused = Stream().acquire("A", 5).release("A", writes=False)
    stored("a release that is refused, and a renewal", refused.renew("A").release("A"))
    stored("late copies of a whole life", Stream().acquire("A", 5).renew("A").release("A").acquire(
        "A", 6).renew("A").release("A"))
    stored("a renewal after the expiry", Stream().acquire("A", 5).after(1100).renew("A"), "I7")
    stored("a release of another's", Stream().acquire("A", 5).release("B", field="A"), "I7", "I13")
    stored("a release twice", Stream().acquire("A", 5).release("A").release("A"), "I7", "I13")
    bare = Stream().acquire("A", 5)
    bare.line("127.0.0.1:2", "DEL", "dlock:a")
    stored("a bare DEL", bare, "I7")
    ours = Stream().acquire("A", 5)
    ours.line("127.0.0.1:3", "CLIENT", "SETNAME", "chaos")
    ours.line("127.0.0.1:3", "DEL", "dlock:a")
    stored("one by the run itself", ours.acquire("B", 6))
    test("store: which ends the hold", follow(ours).held[0].how == "removed")
    stored("a script with other writes", Stream().acquire("A", 5, ["DEL", "dlock:b"]), "I7")
    lost = follow(Stream().acquire("A", 5).renew("A", kept=False))
    test("store: a refused renewal is told", [t[2] for t in lost.told_lost] == ["A#1"])
    step = Clock(0, [(at(500), 2 * SECOND)])
    test("store: a clock that steps", step(at(400) // 1000) == at(400) and
         step((at(600) + 2 * SECOND) // 1000) == at(600) and
         step((at(500) + SECOND) // 1000) == at(500))


# --- brute force ---------------------------------------------------------------------------------

KINDS = (("alone",), ("shared",), ("slots", 0), ("slots", 1))


def may_not(one, two):
    return not (one == two == ("shared",) or {one, two} == {("slots", 0), ("slots", 1)})


def brute_force():
    """All histories of up to four sections of all kinds, eight begins and ends, in any order, any
    tokens."""
    wrong = checked = 0
    for count in range(1, 5):
        for order in set(itertools.permutations([i for i in range(count)] * 2)):
            where = [[t for t, i in enumerate(order) if i == n] for n in range(count)]
            for kinds in itertools.combinations_with_replacement(KINDS, count):
                spans = sorted(Section(w[0], w[1], n, kind) for n, (w, kind) in
                               enumerate(zip(where, kinds)))
                linear = any(True for _ in overlapping(spans))
                slow = any(a.first <= b.last and b.first <= a.last and may_not(a.kind, b.kind)
                           for a, b in itertools.combinations(spans, 2))
                wrong += linear != slow
                checked += 1
    for tokens in itertools.product(range(1, 4), repeat=4):
        runs = [section(f"r{i}", 40 * i, 40 * i + 20, t) for i, t in enumerate(tokens)]
        found = bool(check(history_of(*runs))["I2"])
        slow = any(a >= b for a, b in itertools.combinations(tokens, 2))
        wrong += found != slow
        checked += 1
    test(f"I1 and I2 agree with brute force in {checked} histories, {wrong} not", wrong == 0)


hand_written()
hand_written_store()
selftest_line.hand_written()
selftest_ways.hand_written()
selftest_modes.hand_written_store()
selftest_line.hand_written_store()
brute_force()
test("every rule is a function", len(RULES) == 21)
print(f"{len(passed)} passed, {len(failed)} failed")
sys.exit(1 if failed else 0)
