# SPDX-License-Identifier: MIT
"""The waiting line of a lock, as the writes in MONITOR make it, and what each script may do to it:
who takes a free lock, who is told that it is free, and who loses its place (I15, I16; I7 for what
nobody may write). Scores are in the commands, so the line is known exactly."""
import re
from dataclasses import dataclass, field

from history import Stand

ID = re.compile(r'\{"id":"([^"]+)"(,"polls":true)?(?:,"mode":"(\w+)")?(?:,"slots":(\d+))?')
LIFE, TURN = 10_000, 1000  # ms; line.lua has the same
EDGE = 5                   # ms that two readings of the server's clock may be apart


def id_of(waiter):
    match = ID.match(waiter)
    return match[1] if match else waiter


def mode_of(waiter):
    """How it wants to hold: exclusive, write, shared, slots; and how many slots there are."""
    match = ID.match(waiter)
    mode, slots = (match[3], match[4]) if match else (None, None)
    return "slots" if slots else mode or "exclusive", int(slots or 0)


@dataclass
class Line:
    arrivals: dict = field(default_factory=dict)   # waiter: µs, in the order of the line
    alive: dict = field(default_factory=dict)      # waiter: ms
    stands: dict = field(default_factory=dict)     # waiter: Stand
    expiry: int | None = None                      # µs, of both keys

    def first(self, rank=0):
        order = sorted(self.arrivals, key=self.arrivals.get)
        return order[rank] if rank < len(order) else None

    def stood(self, lock, waiter, at, history):
        if waiter not in self.stands:
            self.stands[waiter] = Stand(lock, id_of(waiter), at, mode=mode_of(waiter)[0])
            history.stands.append(self.stands[waiter])

    def gone(self, waiter, how, at):
        self.arrivals.pop(waiter, None)
        self.alive.pop(waiter, None)
        stand = self.stands.pop(waiter, None)
        if stand:
            stand.end, stand.how = at, how

    def clear(self, how, at):
        for waiter in list(self.stands):
            self.gone(waiter, how, at)
        self.arrivals, self.alive, self.expiry = {}, {}, None

    def believe(self, lock, seen, at, history):
        """What a server says that was restarted."""
        for waiter in set(self.arrivals) - set(seen["line"]):
            self.gone(waiter, "forgotten", at)
        self.arrivals, self.alive = dict(seen["line"]), dict(seen["waiters"])
        for waiter in self.arrivals:
            self.stood(lock, waiter, at, history)
        self.expiry = None


class LineStep:
    """What one script does to the line. `step` is the script on its lock, see shadow.py."""

    def __init__(self, step, me):
        self.step, self.line, script = step, step.lock.line, step.script
        self.me, self.first = me, self.line.first()
        self.had_room = self.first is not None and room(step.lock, self.first)
        self.begun, self.ended = script.begun // 1000 - EDGE, script.ended // 1000 + EDGE
        self.history = step.shadow.history
        self.told = {}         # waiter: what it was told
        self.last_told = None
        self.granted = False
        if script.one and me:
            step.shadow.choosers.add(id_of(me))

    def now(self):
        return self.step.shadow.to_boot(self.step.script.ended)

    def publish(self, channel, word):
        """A turn goes to the first in line, the word to be ready to the second. `wait` means nothing:
        it asks the first whether it lives."""
        if not channel.startswith("dlock:turn:{dlock:%s}:" % self.step.lock.name):
            return
        self.last_told = next((w for w in self.line.arrivals if channel.endswith(":" + id_of(w))),
                              None)
        wanted = self.line.first({"turn": 0, "wait": 0, "next": 1}.get(word, 99))
        if self.last_told is None or self.last_told != wanted:
            self.step.bad(f"tells '{word}' to {channel[11:80]}, who has not that place", "I15")
        self.told[self.last_told] = word

    # --- the writes -------------------------------------------------------------------------------

    def zadd_line(self, words):
        score, waiter = int(words[2]), words[3]
        if waiter != self.me or waiter in self.line.arrivals:
            self.step.bad(f"puts {id_of(waiter)} in line")
        if score <= max(self.line.arrivals.values(), default=0):
            self.step.bad("does not stand at the end of the line", "I15")
        self.line.arrivals[waiter] = score
        self.line.stood(self.step.lock.name, waiter, self.now(), self.history)

    def zadd_waiters(self, words):
        *options, until, waiter = words[2:]
        life = TURN if options == ["LT"] else LIFE
        if life == TURN and self.told.get(waiter) != "turn":
            self.step.bad(f"cuts the life of {id_of(waiter)}, whose turn it is not")
        if life == LIFE and waiter != self.me:
            self.step.bad(f"gives life to {id_of(waiter)}")
        if not self.begun + life <= int(until) <= self.ended + life:
            self.step.bad(f"a life until {until} in line", "I16")
        if waiter in self.line.stands and life == LIFE:
            self.line.stands[waiter].beats.append(self.now())
        if life == LIFE or int(until) < self.line.alive.get(waiter, int(until) + 1):
            self.line.alive[waiter] = int(until)

    def zrem_line(self, words):
        waiter = words[2]
        over = self.line.alive.get(waiter, 0) < self.ended
        if waiter == self.me and (self.granted or not over):
            how = "left" if self.step.script.kind == "leave" else "granted"
        elif over:
            how = "late"
        elif waiter == self.last_told and not ID.match(waiter)[2]:
            how = "deaf"
        else:
            how = "pushed"
            self.step.bad(f"puts {id_of(waiter)} out of the line, who lives", "I15")
        self.line.gone(waiter, how, self.now())

    def zrem_waiters(self, words):
        self.line.alive.pop(words[2], None)

    def pexpire_line(self, words):
        self.line.expiry = self.step.script.ended + int(words[2]) * 1000

    # --- the whole --------------------------------------------------------------------------------

    def before_grant(self):
        """A free lock is for the first who lives."""
        self.granted = True
        first = self.line.first()
        if first is not None and first != self.me:
            self.step.bad(f"granted past {id_of(first)}, who is first in line", "I15")

    @property
    def leaves_others(self):
        """It was granted another name, and leaves this line."""
        return self.step.script.one and not self.granted and ("ZREM", "line") in self.step.done \
            and self.me not in self.line.arrivals

    def check_after(self, lines):
        """`lines`: of all locks of this script, this one's among them."""
        kind, done = self.step.script.kind, self.step.done
        if self.granted and self.me in self.line.arrivals:
            self.step.bad("has the lock, and its place in line as well", "I15")
        # The lock is free by this script, or was so for certain when its writer left the line; or
        # who has taken it leaves room for the next.
        first, acted = self.line.first(), {
            "release": {("HDEL", "lock"), ("DEL", "lock"), ("HINCRBY", "lock")} & done,
            "revoke": {("DEL", "lock")} & done, "leave": {("ZREM", "line")} & done,
            "acquire": self.granted or self.leaves_others}.get(kind)
        news = kind == "leave" or self.leaves_others or first != self.first or not self.had_room
        if acted and news and first is not None and ready(self.step, first) and \
           not any(w and id_of(w) == id_of(first) and word == "turn"
                   for line in lines for w, word in line.told.items()):
            self.step.bad(f"nobody told {id_of(first)} that it is its turn", "I16")
        # Without any write the first one was refused, and the rest left undone.
        for waiter, word in self.told.items() if done else ():
            if word == "turn" and self.line.alive.get(waiter, 0) > self.ended + TURN:
                self.step.bad(f"the turn of {id_of(waiter)} has no end", "I16")


def room(lock, waiter):
    """Could it take this lock now, if it stood first?"""
    owners, (mode, slots) = lock.owners(), mode_of(waiter)
    return not lock.foreign and (  # the dead take room until somebody takes them out
        not owners and not lock.dead or (mode == "shared" and lock.mode() == "read") or
        (lock.mode() == f"slots:{slots}" and len({*owners, *lock.dead}) < slots))


def ready(step, waiter):
    """Could it take all that it waits for? It stands in the lines of all its names; if one is enough,
    only this one counts."""
    id_, locks = id_of(waiter), step.shadow.locks
    for lock in [step.lock] if id_ in step.shadow.choosers else locks.values():
        mine = next((w for w in lock.line.arrivals if id_of(w) == id_), None)
        if mine and (lock.line.first() != mine or not room(lock, mine)):
            return False
    return True
