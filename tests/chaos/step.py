# SPDX-License-Identifier: MIT
"""One script on one lock: its writes, and whether they are the right of whoever sent it (I7, I13;
tokens of I2, readers of I17, slots of I18). What it did is the difference between the owners, their
leases and the records before it and after it."""
import copy
from dataclasses import dataclass, field

from call import Call
from line import LineStep
from state import KEPT, WRITE, role_of

SLACK = 5000
EXTENDS = {("PEXPIRE", "lock"), ("SET", "lease")}
LAYOUT = {"exclusive": "exclusive", "write": "write", "shared": "read", "slots": "slots"}
PASS_ON = {("ZREM", "line"), ("ZREM", "waiters"), ("ZADD", "waiters")}
PRUNE = {("HDEL", "lock"), ("HDEL", "holds"), ("DEL", "lease"), ("DEL", "lock"), ("DEL", "holds"),
         ("HDEL", "revoked"), ("DEL", "revoked"), ("HSET", "lock"), ("PEXPIRE", "lock")}
RELEASED = {("ZADD", "released"), ("ZREM", "released"), ("PEXPIRE", "released")}
READS = {"TYPE", "TIME", "GET", "PTTL", "HEXISTS", "HGET", "HGETALL", "HLEN", "EXISTS", "PUBLISH",
         "SPUBLISH", "ZSCORE", "ZCARD", "ZCOUNT", "ZRANK", "ZRANGE", "ZRANGEBYSCORE", "HKEYS",
         "HVALS", "HMGET", "MGET"}


@dataclass
class Script:
    kind: str
    who: str
    begun: int
    ended: int
    keys: list
    args: list
    inner: list = field(default_factory=list)
    one: bool = False    # an acquire of one of several names


class Step:
    # What each kind may write to, beside what is in the line.
    KINDS = {
        "acquire": {("SET", "token"), ("PEXPIRE", "token"), ("HINCRBY", "lock"), ("SET", "lease"),
                    ("HSET", "holds"), ("PEXPIRE", "holds"),
                    ("ZADD", "line"), ("PEXPIRE", "line"), ("PEXPIRE", "waiters"), *PRUNE,
                    *PASS_ON},
        "renew": {("HDEL", "holds"), ("HSET", "holds"), ("PEXPIRE", "holds"), ("HDEL", "lock"),
                  ("PEXPIRE", "lock"), ("SET", "lease")},
        "release": {("HINCRBY", "lock"), ("HSET", "holds"), ("PEXPIRE", "holds"),
                    ("SET", "lease"), ("SET", "done"), ("SET", "last"), *RELEASED, *PRUNE, *PASS_ON},
        "revoke": {("HSET", "revoked"), ("PEXPIRE", "revoked"), *PRUNE, *PASS_ON},
        "leave": PASS_ON,
        "inspect": set(),
    }

    def __init__(self, shadow, lock, script, slack):
        self.shadow, self.lock, self.script, self.slack = shadow, lock, script, slack
        self.call = Call(script, lock.name)
        self.owner, self.id = self.call.owner, self.call.id
        self.token, self.done = 0, set()
        self.before, self.holds, self.mode = lock.owners(), dict(lock.holds), lock.mode()
        self.line = LineStep(self, self.call.me)

    def bad(self, text, rule="I7"):
        self.shadow.accuse(rule, self.lock.name, f"{self.script.kind} by {self.id[:60]}: {text}")

    @staticmethod
    def run(steps, script):
        """`steps`: {lock: Step} of all that the script may touch."""
        first = next(iter(steps.values()))
        for words in script.inner:
            command = words[0].upper()
            if command in ("PUBLISH", "SPUBLISH"):
                for step in steps.values():
                    step.line.publish(*words[1:])
            if command in READS:
                continue
            for key in words[1:] if command == "DEL" else words[1:2]:
                lock, role = role_of(key)
                if lock in steps and (command, role) in Step.KINDS[script.kind]:
                    steps[lock].write(command, role, [command, key, *words[2:]])
                else:
                    first.bad(f"must not {command} {key}")
        if script.kind == "renew":
            last = [step for step in steps.values() if step.done][-1:]
            for step in steps.values():
                step.verdict([step] == last)
        for step in steps.values():
            step.judge()
        Step.together(list(steps.values()), script)
        for step in steps.values():
            step.line.check_after([other.line for other in steps.values()])

    @staticmethod
    def together(steps, script):
        """Of several names all are taken, or none, or never more than one if that is enough; and all
        of ours are given back."""
        kind = script.kind
        had = [bool(step.replayed()) for step in steps]
        has = [bool(step.joined() or step.replayed(step.lock.holds)) for step in steps]
        if kind == "acquire" and any(now and not then for now, then in zip(has, had)):
            if script.one and sum(has) > 1:
                steps[has.index(True)].bad("has two of its names, of which one is enough", "I19")
            if not script.one and not all(has):
                steps[has.index(False)].bad("takes only some of its names", "I19")
        if kind == "release" and any(then and not now for now, then in zip(has, had)):
            if any(has):
                steps[has.index(True)].bad("gives back only some of its names", "I19")

    def write(self, command, role, words):
        self.done.add((command, role))
        if (command, role) == ("SET", "token"):
            self.take_token(words[2])
        elif role in ("line", "waiters"):
            act = getattr(self.line, f"{command.lower()}_{role}", None)
            if act:
                act(words)
        else:
            if (command, role) in (("HSET", "lock"), ("HINCRBY", "lock")):
                self.before_taking(words[2::2])
            if command == "HINCRBY" and int(words[3]) < 0 and \
               words[2].removesuffix(WRITE) not in {*self.before, *self.lock.dead}:
                self.twice(words[2])
                self.bad(f"counts for {words[2]}, who does not hold")
            if self.script.kind == "renew" and (command, role) in EXTENDS and \
               self.owner not in self.before:
                self.bad("extends a lock that it does not hold")
            self.lock.write(command, role, words, self.script.ended)

    def take_token(self, text):
        self.token = int(text) if text.isdigit() else 0
        if self.token <= self.lock.token:
            self.bad(f"token {text} after {self.lock.token}", "I2")
        self.lock.token = max(self.lock.token, self.token)

    def before_taking(self, fields):
        """Whoever takes a lock that may have ended by now has seen that it did; of one that it takes
        beside others it writes the mode then, before itself. Its record and its lease are written
        already."""
        lock = self.lock
        if self.script.kind != "acquire" or not self.token:
            return
        still_there = self.call.beside and "mode" not in fields
        if lock.expiry is not None and not self.line.granted and not still_there and \
           self.script.begun >= lock.expiry - self.slack:
            for owner, who in self.before.items():
                self.shadow.close(lock, owner, "expired", min(who.end, self.script.begun))
            lock.clear(but=self.id)
            self.before, self.holds = {}, {}
        mine = self.owner in [name.removesuffix(WRITE) for name in fields]
        if mine and self.owner not in self.before and not self.line.granted:
            self.line.before_grant()

    # --- who holds now ---------------------------------------------------------------------------

    def judge(self):
        after, held = self.lock.owners(), self.lock.open.get(self.owner)
        if held and held.id == self.id and self.gives_back(self.owner):
            held.own = self.shadow.to_boot(self.script.begun)
        for owner in set(after) - set(self.before):
            self.entered(owner, after[owner], after)
        after = self.lock.owners()
        for owner, old in self.before.items():
            new = after.get(owner)
            if new is not None:
                self.changed(owner, old, new)
            elif owner in self.lock.open:
                self.left(owner, old)
        if self.gives_back(self.owner):
            self.lock.released.add(self.id)
        for id_ in set(self.holds) - set(self.lock.holds):
            whose = id_.split("#")[0]
            if id_ != self.id and whose in after and self.sure(after[whose].end):
                self.bad(f"takes the record of {id_}")
        self.check_after(after)

    def sure(self, end):
        """Had that lease certainly not ended?"""
        return end > self.script.ended + self.slack

    def entered(self, owner, new, after):
        if self.script.kind != "acquire" or owner != self.owner:
            return self.bad(f"writes the owner {owner}")
        record = self.lock.holds.get(self.id, {})
        as_asked = LAYOUT.get(record.get("mode", "exclusive")) == self.lock.mode().split(":")[0]
        if not as_asked:
            self.bad(f"granted {record.get('mode', 'exclusive')} where the lock is "
                     f"{self.lock.mode()}", self.rule())
        for other, who in self.before.items():
            together = as_asked and new.beside and who.beside and not who.alone and \
                       self.mode == self.lock.mode()
            if other in after and self.sure(who.end) and not together:
                if as_asked:
                    self.bad(f"granted ({self.lock.mode()}) while held by {other} ({self.mode})",
                             self.rule())
                self.shadow.close(self.lock, other, "removed", self.script.begun)
                self.lock.forget(other)
        if self.lock.foreign:
            self.bad("granted while held by a foreign lock")
            self.lock.foreign = False
        if not self.token:
            self.bad("the token is not of this grant")
        elif record.get("token") != self.token:
            self.bad(f"the record has token {record.get('token')}, the grant {self.token}")
        self.take_slot(record)
        self.lock.released.discard(self.id)  # a late copy of its acquire: see ghosts
        self.shadow.opened(self.lock, owner).id = self.id
        self.shadow.history.grants.append(
            (self.shadow.to_boot(self.script.ended), self.lock.name, self.id, self.token))
        self.shadow.tell(self.lock, f"acquire {self.id}: granted ({self.lock.mode()}), "
                         f"token {self.token}")
        return self.lease(owner, new.end) if as_asked else None

    def rule(self):
        modes = {self.mode.split(":")[0], self.lock.mode().split(":")[0]}
        return "I18" if "slots" in modes else "I17" if "read" in modes else "I7"

    def take_slot(self, record):
        mode = self.lock.mode()
        if not mode.startswith("slots:") or record.get("mode") != "slots":
            return
        # The record of a dead one may be there still.
        alive = {owner for owner, who in self.before.items() if self.sure(who.end)} - {self.owner}
        taken = {r.get("slot") for id_, r in self.lock.holds.items() if id_.split("#")[0] in alive}
        slot, most = record.get("slot"), int(mode[6:])
        if slot in taken or not isinstance(slot, int) or not 0 <= slot < most:
            self.bad(f"granted slot {slot} of {most}, {sorted(map(str, taken))} are taken", "I18")

    def left(self, owner, old):
        if self.gives_back(owner):
            if old.count() > 1 and self.sure(old.end):
                self.bad(f"removes {owner}, who has holds left")
            self.gave_back(owner)
        elif self.script.kind == "revoke" and (self.call.now or owner + KEPT in self.holds):
            self.shadow.close(self.lock, owner, "removed", self.script.begun)
            self.shadow.tell(self.lock, f"revoke: {owner} is out")
        elif not self.sure(old.end):
            self.shadow.close(self.lock, owner, "expired", min(old.end, self.script.begun))
        else:
            self.twice(owner)
            self.bad(f"removes {owner}")
            self.shadow.close(self.lock, owner, "removed", self.script.begun)

    def twice(self, owner):
        if self.script.kind == "release":
            again = self.id in self.lock.released
            self.bad("given back twice" if again else f"gives back what it has not of {owner}",
                     "I13")

    def gave_back(self, owner):
        at = self.shadow.to_boot(self.script.begun)
        if owner in self.lock.open:
            self.lock.open[owner].released = at
        self.shadow.close(self.lock, owner, "released", self.script.begun)
        self.shadow.tell(self.lock, f"release {self.id}")

    def changed(self, owner, old, new):
        more = new.count() - old.count()
        if more > 0 and (self.script.kind != "acquire" or self.joined() != owner):
            self.bad(f"counts for {owner}")
        if more < 0 and not (more == -1 and self.gives_back(owner)):
            self.twice(owner)
            self.bad(f"counts down for {owner}")
        kept = self.lock.is_kept(owner) and owner + KEPT not in self.holds
        if kept and self.gives_back(owner) and self.call.keep:
            self.gave_back(owner)
            self.shadow.opened(self.lock, owner + KEPT)
            if abs(new.end - self.script.ended - self.call.keep) > self.slack:
                self.bad(f"keeps it for {(new.end - self.script.ended) // 1000} ms")
        elif kept:
            self.bad(f"keeps the hold of {owner}")
        elif new.end != old.end:
            self.moved(owner, old, new)

    def gives_back(self, owner):
        return self.script.kind == "release" and owner == self.owner and \
            self.id in self.holds and self.id not in self.lock.holds

    def joined(self):
        """The owner under whom this acquire has a new record."""
        serial = "#" + self.id.split("#")[-1]
        return next((id_.split("#")[0] for id_ in self.lock.holds
                     if id_.endswith(serial) and id_ not in self.holds), None)

    # --- leases ----------------------------------------------------------------------------------

    def moved(self, owner, old, new):
        mine = owner in (self.owner, self.joined(), self.replayed())
        longer = new.end > old.end + self.slack
        if longer and self.lock.is_kept(owner):
            self.bad(f"extends what is kept of {owner}")
        elif longer and not (mine and self.script.kind in ("acquire", "renew")):
            self.bad(f"extends the lease of {owner}")
        elif new.end < old.end - self.slack and not self.gives_back(owner):
            self.bad(f"shortens the lease of {owner} by {(old.end - new.end) // 1000} ms")
        if longer:
            self.lease(owner, new.end)
        else:
            self.shadow.leased(self.lock, owner, new.end)

    def replayed(self, holds=None):
        """The owner under whom this script's hold was recorded before."""
        serial = "#" + self.id.split("#")[-1]
        holds = self.holds if holds is None else holds
        return next((id_.split("#")[0] for id_ in holds if id_.endswith(serial)), None)

    def lease(self, owner, end):
        left, ttl = end - self.script.ended, self.call.ttl
        if self.script.kind == "renew" and not ttl and self.lock.owners()[owner].beside:
            # A look mends a lease that others have shortened.
            ttl = int(self.lock.holds.get(self.id, {}).get("ttl_ms", 0)) * 1000
        if abs(left - ttl) > self.slack and self.lock.expiry is not None:
            self.bad(f"a lease of {left // 1000} ms")
        self.shadow.leased(self.lock, owner, end)

    def verdict(self, last):
        """What a renewal was told shows in what the script did next: it looked who has it now, and
        went no further. `last`: it did nothing more to another lock."""
        if ("HDEL", "holds") not in self.done:
            return  # refused before its first write
        if not last or "TIME" not in [words[0].upper() for words in self.script.inner]:
            return self.shadow.tell(self.lock, f"renew {self.id}: kept")
        self.shadow.tell(self.lock, f"renew {self.id}: lost")
        if self.script.who not in self.shadow.duplicates and self.id not in self.lock.released:
            at = self.shadow.to_boot(self.script.ended)
            self.shadow.history.told_lost.append((at, self.lock.name, self.id))

    # --- the whole -------------------------------------------------------------------------------

    def check_after(self, after):
        lock = self.lock
        if self.script.kind == "renew" and self.id in lock.released and self.id in lock.holds:
            self.bad("brings a released hold back")
        if lock.fields and not after and not lock.dead:
            self.bad("leaves a lock that nobody has")
        if lock.fields and lock.expiry is None:
            self.bad("leaves a lock without expiry")
            lock.expiry = self.script.ended + 3600 * 1_000_000
        for owner, who in after.items():
            if self.sure(who.end) and lock.expiry < who.end - self.slack:
                self.bad(f"the lock ends before the lease of {owner}")
            living = lock.living(owner)
            if who.count() != living and self.shadow.history.kind == "G" and self.sure(who.end):
                self.bad(f"{owner} counts {who.count()}, {living} holds live", "I13")
                self.trust(owner, living or who.count())

    def trust(self, owner, count):
        """It is accused once."""
        name = owner if owner in self.lock.fields else owner + WRITE
        self.lock.fields[name] = str(count)


