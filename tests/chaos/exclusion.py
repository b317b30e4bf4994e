# SPDX-License-Identifier: MIT
"""Who may run beside whom: I1, I17, I18, I19 on the sections of a history, and I2, what their
tokens say about their order. A section is alone, a reader, or in a slot."""
import heapq
from dataclasses import dataclass

from history import MS, Violation

SAME = 5 * MS          # two clocks of the recording may disagree by so much


@dataclass(order=True)
class Section:
    first: int
    last: int
    run: object
    kind: tuple        # alone, shared, or slots and which one


def kind_of(run, name):
    mode = run.mode()
    return (mode, run.slot(name)) if mode == "slots" else (
        ("shared",) if mode == "shared" else ("alone",))


def sections(history, name):
    """Of a name, by their begin."""
    return sorted((Section(r.first(), r.last(), r, kind_of(r, name)) for r in history.of(name)
                   if r.notes), key=lambda s: s.first)


def beside(one, two):
    """May these kinds be at once?"""
    return one[0] == two[0] != "alone" and (one[0] == "shared" or one[1] != two[1])


def overlapping(all_of_them):
    """(earlier, later) of those that overlap and must not; for each the worst of a kind before."""
    latest = {}
    for section in all_of_them:
        for kind, other in latest.items():
            if section.first < other.last and not beside(kind, section.kind):
                yield other, section
        if section.kind not in latest or section.last > latest[section.kind].last:
            latest[section.kind] = section


def rule_of(one, two):
    if len(one.run.names) + len(two.run.names) > 2:
        return "I19"
    kinds = {one.kind[0], two.kind[0]}
    return "I18" if "slots" in kinds else "I17" if "shared" in kinds else "I1"


def together(history, rule):
    """The overlaps that a rule is about."""
    for lock in history.locks() if history.kind == "G" else ():
        for one, two in overlapping(sections(history, lock)):
            if rule_of(one, two) == rule:
                yield Violation(rule, two.first, f"{one.run.id} ({text(one)}) and {two.run.id} "
                                f"({text(two)}) ran at once for "
                                f"{(min(one.last, two.last) - two.first) / MS:.1f} ms", lock)


def text(section):
    return f"{' '.join(str(word) for word in section.kind)}, {section.run.lock}"


def i17_readers(history):
    yield from (v for v in history.store_violations if v.rule == "I17")
    yield from together(history, "I17")
    for run in history.runs if history.kind == "G" else ():
        if run.has("torn"):
            yield Violation("I17", run.last(), f"{run.id} saw what it reads change", run.lock)


def i18_slots(history):
    yield from (v for v in history.store_violations if v.rule == "I18")
    yield from together(history, "I18")
    for lock, most in history.slots.items():
        yield from too_many(history, lock, most)


def too_many(history, lock, most):
    ends = []
    for section in sections(history, lock):
        if section.kind[0] != "slots":
            continue
        if section.kind[1] is None or section.kind[1] >= most:
            yield Violation("I18", section.first, f"{section.run.id} has slot {section.kind[1]} of "
                            f"{most}", lock)
        while ends and ends[0] < section.first:
            heapq.heappop(ends)
        heapq.heappush(ends, section.last)
        if len(ends) > most and history.kind == "G":
            yield Violation("I18", section.first, f"{section.run.id} is number {len(ends)} of "
                            f"{most}", lock)


def i19_names(history):
    yield from (v for v in history.store_violations if v.rule == "I19")
    yield from together(history, "I19")
    times = {}
    for held in history.held:
        times.setdefault(held.owner, []).append(held)
    for run in history.runs if history.kind == "G" else ():
        if len(run.names) > 1 and run.owner():
            yield from half_held(run, times.get(run.owner(), []))


def half_held(run, times):
    """A run of several names has all of them or none; when it has given one back, it has none. A
    name that was joined within another run's hold would have another owner. What is left of a dead
    run within it is taken out afterwards, name by name."""
    if len({run.owner(name) for name in run.names}) > 1:
        return
    for held in times:
        others = {other.lock: other for other in times if abs(other.start - held.start) <= SAME}
        for name in run.names:
            if name not in others:
                yield Violation("I19", held.start, f"{run.id} got {held.lock} without {name}", name)
        for other in others.values():
            at_once = held.own and other.end and abs(held.own - other.own) <= SAME
            if held.released and not at_once and not (0 < other.end <= held.released + SAME):
                yield Violation("I19", held.released, f"{run.id} gave {held.lock} back and kept "
                                f"{other.lock}", other.lock)


# --- tokens --------------------------------------------------------------------------------------

def i2_tokens(history):
    last = {}
    for at, lock, hold, token in history.grants:
        if token <= last.get(lock, 0):
            yield Violation("I2", at, f"{hold} got token {token} after {last[lock]}", lock)
        last[lock] = max(token, last.get(lock, 0))
    granted = {(lock, token) for _, lock, _, token in history.grants}
    for lock in history.locks():
        before = {}
        for section in sections(history, lock):
            run, token = section.run, section.run.token(lock)
            if history.grants and (lock, token) not in granted:
                yield Violation("I2", section.first, f"{run.id} has token {token}, never granted",
                                lock)
            best = max((t for kind, t in before.items() if not beside(kind, section.kind)),
                       default=0)
            if history.kind == "G" and token <= best:
                yield Violation("I2", section.first, f"{run.id} began with token {token} after "
                                f"{best}", lock)
            before[section.kind] = max(before.get(section.kind, 0), token)
        yield from stale_tokens(history, lock)


def came(section):
    """A time before which it cannot have been granted its token."""
    return section.run.came() if section.kind == ("alone",) else section.run.start


def stale_tokens(history, lock):
    """Who came after another had begun has a larger token, whatever happened between."""
    all_of_them = sections(history, lock)
    best, step = 0, 0
    for section in sorted(all_of_them, key=came):
        while step < len(all_of_them) and all_of_them[step].first < came(section):
            best = max(best, all_of_them[step].run.token(lock))
            step += 1
        if section.run.token(lock) <= best:
            yield Violation("I2", section.first, f"{section.run.id} came when token {best} was in "
                            f"use, and has {section.run.token(lock)}", lock)


def i3_fence(history):
    for resource, writes in history.writes.items():
        best = 0
        for token, run, accepted in writes:
            if accepted and token < best:
                at = next((r.last() for r in history.runs if r.id == run), 0)
                yield Violation("I3", at, f"token {token} of {run} accepted after {best}", resource)
            best = max(best, token if accepted else 0)
