# SPDX-License-Identifier: MIT
"""The keys of one lock, as the writes in MONITOR make them, and what they say about its owners. It
takes every write as the server does, and judges none; that is step.py. Times are in µs of the
server's clock."""
import json
import re
from dataclasses import dataclass, field

from line import Line

KEY = re.compile(r"(redisson_lock_token|dlock:(?:holds|revoked|line|waiters|done|last|released)):"
                 r"\{dlock:([^}]*)\}")
LEASE = re.compile(r"\{dlock:([^}]*)\}:(.+):rwlock_timeout:(\d+)")
PLAIN = re.compile(r"dlock:([^:]+)")
WRITE, KEPT = ":write", "#kept"


def role_of(key):
    """(lock, what it is there) of a key, or nothing."""
    if match := KEY.fullmatch(key):
        return match[2], match[1].rsplit("_")[-1].rsplit(":")[-1]
    if match := LEASE.fullmatch(key):
        return match[1], "lease"
    match = PLAIN.fullmatch(key)
    return (match[1], "lock") if match else ("", "")


def record_of(text):
    try:
        record = json.loads(text)
    except ValueError:
        record = None
    return record if isinstance(record, dict) else {}


@dataclass
class Owner:
    alone: int = 0       # its holds that stand beside nobody
    beside: int = 0      # as a reader, or in a slot
    end: int = 0         # of its lease

    def count(self):
        return self.alone + self.beside


@dataclass
class Lock:
    name: str
    fields: dict = field(default_factory=dict)   # of the hash
    expiry: int | None = None                    # of the hash
    leases: dict = field(default_factory=dict)   # (owner, number): its end
    holds: dict = field(default_factory=dict)    # id: record
    token: int = 0
    released: set = field(default_factory=set)   # ids
    dead: set = field(default_factory=set)       # owners whose fields may be there still
    foreign: bool = False
    open: dict = field(default_factory=dict)     # owner: Held
    line: Line = field(default_factory=Line)

    def mode(self):
        """exclusive, read, write, or slots:N"""
        return self.fields.get("mode", "exclusive")

    def owners(self):
        out, mode = {}, self.mode()
        for name, count in self.fields.items():
            if name == "mode":
                continue
            alone = mode == "exclusive" or name.endswith(WRITE)
            who = out.setdefault(name.removesuffix(WRITE), Owner())
            who.alone += int(count) * alone
            who.beside += int(count) * (not alone)
        for name, who in out.items():
            who.end = (self.expiry or 0) if who.alone else max(
                (end for (whose, _), end in self.leases.items() if whose == name), default=0)
        return out

    def living(self, owner):
        return sum(id.startswith(owner + "#") for id in self.holds)

    def is_kept(self, owner):
        return owner + KEPT in self.holds

    def forget(self, owner):
        """It is dead: nothing of it counts any more."""
        self.fields.pop(owner, None)
        self.fields.pop(owner + WRITE, None)
        self.leases = {k: end for k, end in self.leases.items() if k[0] != owner}
        self.dead.add(owner)
        self.holds = {k: r for k, r in self.holds.items() if not k.startswith(owner + "#")}
        self.settle()

    def settle(self):
        """A hash without a field is no key."""
        if not self.fields:
            self.expiry = None
            self.dead.clear()

    def clear(self, but=None):
        """All is gone, but what the hold of this id has."""
        owner = but and but.split("#")[0]
        self.leases = {key: end for key, end in self.leases.items() if key[0] == owner}
        self.holds = {id_: record for id_, record in self.holds.items() if id_ == but}
        self.fields, self.expiry = {}, None
        self.dead.clear()

    # --- the writes of a script, which ends at `now` ----------------------------------------------

    def write(self, command, role, words, now):
        act = getattr(self, f"{command.lower()}_{role}", None)
        if act:
            act(words, now)

    def hset_lock(self, words, _):
        self.fields |= dict(zip(words[2::2], words[3::2]))

    def hincrby_lock(self, words, _):
        self.fields[words[2]] = str(int(self.fields.get(words[2], 0)) + int(words[3]))

    def hdel_lock(self, words, _):
        for name in words[2:]:
            self.fields.pop(name, None)
            self.dead.discard(name)
        self.settle()

    def del_lock(self, *_):
        self.fields, self.foreign = {}, False
        self.settle()

    def pexpire_lock(self, words, now):
        if self.fields:
            self.expiry = now + int(words[2]) * 1000

    def set_lease(self, words, now):
        match = LEASE.fullmatch(words[1])
        px = [int(n) for w, n in zip(words[3:], words[4:]) if w.upper() == "PX"]
        self.leases[match[2], match[3]] = now + (px[0] if px else 10**9) * 1000

    def pexpire_lease(self, words, now):
        match = LEASE.fullmatch(words[1])
        if (match[2], match[3]) in self.leases:
            self.leases[match[2], match[3]] = now + int(words[2]) * 1000

    def del_lease(self, words, _):
        match = LEASE.fullmatch(words[1])
        self.leases.pop((match[2], match[3]), None)

    def hset_holds(self, words, _):
        self.holds |= {id: record_of(text) for id, text in zip(words[2::2], words[3::2])}

    def hdel_holds(self, words, _):
        for id_ in words[2:]:
            self.holds.pop(id_, None)

    def del_holds(self, *_):
        self.holds.clear()

    def believe(self, seen, now):
        """A server that was restarted says what it still knows."""
        self.fields = dict(seen["fields"])
        self.holds = {id: record_of(text) for id, text in seen["holds"].items()}
        self.leases = {}
        for key, ends in seen["leases"].items():
            match = LEASE.fullmatch(key)
            self.leases[match[2], match[3]] = ends * 1000 if ends > 0 else now
        self.foreign = False
        ends = seen["ends"] * 1000 if seen["ends"] > 0 else now
        self.expiry = ends if self.fields else None
