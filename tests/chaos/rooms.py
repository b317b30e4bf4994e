# SPDX-License-Identifier: MIT
"""When there was room for somebody who stood in line: I16 asks how long it stayed so. Readers have
room beside readers, slots beside slots, and whoever waits for several names needs all of them. Who
stands behind somebody with other needs has room only when that one has, too."""
from dataclasses import dataclass

NEVER = float("inf")


def need(stand):
    return stand.mode if stand.mode in ("shared", "slots") else "exclusive"


@dataclass
class Span:
    """A time in which a waiter stood in line and there was room for it."""
    start: int
    end: int
    stand: object
    ahead: list      # the stands before it
    told: bool       # room was made by a release, so somebody was told


class Rooms:
    def __init__(self, history, find):
        """`find`: the run of a stand."""
        self.history, self.found = history, {}
        self.lines, self.held = {}, {}
        for stand in history.stands:
            self.lines.setdefault(stand.lock, []).append(stand)
            run = find(stand)
            self.found[id(stand)] = run.names if run and stand.lock in run.names else [stand.lock]
        for held in history.held:
            self.held.setdefault(held.lock, []).append(held)
        self.known = {}
        self.tied = {lock: self.near([lock]) for lock in self.lines}

    def near(self, names):
        """These, and all that runs of several names tie to them."""
        near = set(names)
        for own in self.found.values():
            if near & set(own):
                near |= set(own)
        return sorted(near)

    def spans(self):
        for lock in self.lines:
            for stand in sorted(self.lines[lock], key=lambda s: s.since):
                yield from self.of(stand)

    def of(self, stand):
        names, tied = self.found[id(stand)], self.tied[stand.lock]
        ahead = [s for name in tied for s in self.lines.get(name, ())
                 if s.since < stand.since and s.id != stand.id]
        several = any(len(self.found[id(s)]) > 1 for s in (stand, *ahead))
        strict = dict.fromkeys(tied if several else names, "exclusive")
        mild = dict.fromkeys(names, need(stand))
        edge = max((s.end or NEVER for s in ahead
                    if need(s) != need(stand) or self.found[id(s)] != names), default=0)
        edge = max(edge, stand.since) if strict != mild else stand.since
        for needs, since, until in ((strict, stand.since, edge), (mild, edge, NEVER)):
            for start, end, told in self.common(needs):
                told = told and (start >= since or since == stand.since)
                start, end = max(start, since), min(end, until, stand.end or start)
                if start < end:
                    yield Span(start, end, stand, [s for s in ahead if (s.end or NEVER) > start],
                               told)

    def common(self, needs):
        """(start, end, told) where there is room for all of `needs`, {name: mode}."""
        spans = [(0, NEVER, False)]
        for name, mode in needs.items():
            spans = [(max(a, c), min(b, d), told if c >= a else before)
                     for a, b, before in spans for c, d, told in self.room(name, mode)
                     if max(a, c) < min(b, d)]
        return spans

    def room(self, lock, mode):
        """[(start, end, told)] of a lock by itself."""
        if (lock, mode) not in self.known:
            self.known[lock, mode] = list(self.make_room(lock, mode))
        return self.known[lock, mode]

    def make_room(self, lock, mode):
        events = []
        for held in self.held.get(lock, ()):
            events += [(held.start, 1, held), (held.end or NEVER, 0, held)]
        beside = blocking = start = 0
        told, most = False, self.history.slots.get(lock, 1)
        for at, enters, held in sorted(events, key=lambda e: e[:2]):
            had = self.fits(mode, blocking, beside, most)
            step = 1 if enters else -1
            if held.mode == mode and mode != "exclusive":
                beside += step
            else:
                blocking += step
            has = self.fits(mode, blocking, beside, most)
            if had and not has and start < at:
                yield start, at, told
            if has and not had:
                start, told = at, held.how == "released"
        if self.fits(mode, blocking, beside, most):
            yield start, NEVER, told

    @staticmethod
    def fits(mode, blocking, beside, most):
        return not blocking and (mode != "slots" or beside < most)
