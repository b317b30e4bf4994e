# SPDX-License-Identifier: MIT
"""What there is: the server between two steps, and what everybody was promised. A step is a script
between THAW and FREEZE (see clock.py). Nothing is judged more finely than `margin`: the rounding of
the server and all the time that the step took, wherever the machine stood still in it."""
import collections

from server import RedisError
from state import NAMES, Complaint, State

ROUNDING = 4  # ms


class Step:
    """A script that has run: its answer, the names before and after it, and between which times."""

    def __init__(self, answer, before, after, sent, now, endless):
        self.answer, self.before, self.after = answer, before, after
        self.sent, self.now, self.endless = sent, now, endless


class World:
    def __init__(self, scripts):
        self.scripts, self.server = scripts, scripts.connection
        self.passed = 0.0     # ms from the server's time to ours
        self.holds = {}       # (claim, name) -> Hold, of who holds by its own account
        self.kept = []        # Hold, of nobody
        self.java = {}        # (owner, name, mode) -> when its leases end
        self.foreign = set()  # names that Redisson has taken: it leaves records as they are
        self.gone = set()     # claims that ask no more
        self.bound = collections.Counter()   # name -> when it has to be free at the latest
        self.tokens = collections.Counter()  # name -> the newest
        self.named = {}       # (name, id of a hold) -> its token, when a revocation named it
        self.kept_until = {}  # (name, owner) -> when it has to be over
        self.states = {}
        self.margin = ROUNDING
        self.server.pipe(("FLUSHALL",))
        _, self.states, _ = self.frozen(*self.server.pipe(self.scripts.call("freeze", [], NAMES)))

    def frozen(self, told):
        if isinstance(told, RedisError):
            raise told
        (seconds, micros), names, endless = told
        self.since = int(seconds) * 1000 + int(micros) // 1000
        now = self.time_of((seconds, micros))
        states = {n: State(raw, now, self.passed) for n, raw in zip(NAMES, names)}
        return now, states, endless

    def time_of(self, stamp):
        return int(stamp[0]) * 1000 + int(stamp[1]) / 1000 + self.passed

    def step(self, script=None, keys=(), args=(), later=0):
        """Runs it `later` ms after the last one. Who calls this ends with see()."""
        commands = [self.scripts.call("thaw", [], [self.since, later])]
        if script:
            commands.append(self.scripts.call(script, keys, args))
        commands.append(self.scripts.call("freeze", [], NAMES))
        thawed, *answers, told = self.server.pipe(*commands)
        if isinstance(thawed, RedisError):
            raise thawed
        if answers and isinstance(answers[0], RedisError):
            raise Complaint("error", f"{script}: {answers[0]}")
        self.passed -= thawed[1]
        sent, before = self.time_of(thawed[0]), self.states
        now, after, endless = self.frozen(told)
        self.margin = ROUNDING + now - sent
        return Step(answers[0] if answers else None, before, after, sent, now, endless)

    def free_by(self, names, when):
        for name in names:
            self.bound[name] = max(self.bound[name], when)

    def alive(self, now):
        """Who surely holds something."""
        return [h for h in [*self.holds.values(), *self.kept] if h.end > now + self.margin]

    def java_alive(self, name, now):
        return [(owner, mode) for (owner, of, mode), ends in self.java.items()
                if of == name and any(end > now + self.margin for end in ends)]
