# SPDX-License-Identifier: MIT
"""How a name stands in the server, what a claim was granted of it, and what fits beside what. Times
are ms of the world, in which nothing passes between two steps."""
import json

NAMES = ("n", "m")


class Complaint(Exception):
    """Something is not as it should be: a word for what, and the case."""

    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind = kind


def keys_of(names, *what):
    form = {"lock": "dlock:%s", "token": "redisson_lock_token:{dlock:%s}"}
    return [form.get(w, "dlock:" + w + ":{dlock:%s}") % n for n in names for w in what]


def tag_of(name):
    return "{dlock:%s}" % name


def is_beside(mode):
    return mode in ("shared", "slots")


def can_join(above, mode):
    """May a run that claims in this mode join the hold of a run above it?"""
    if "slots" in (above, mode):
        return above == mode
    return above != "shared" or mode == "shared"


def field_of(owner, mode):
    return owner + ":write" if mode == "write" else owner


def owner_of(hold_id):
    return hold_id.rpartition("#")[0]


def mode_in(record):
    return record.get("mode", "exclusive")


class State:
    """A name, from what FREEZE tells of it."""

    def __init__(self, told, now, passed):
        fields, self.ttl, leases, holds, self.holds_ttl, line, self.waiters, revoked, noted = told
        self.now = now
        self.fields = dict(zip(fields[::2], fields[1::2]))
        word = self.fields.pop("mode", None)
        self.mode = {None: "exclusive", "read": "shared"}.get(word, (word or "").partition(":")[0])
        self.slots = int(word[6:]) if self.mode == "slots" else 0
        self.lease = {}
        for owner, left in zip(leases[::2], leases[1::2]):
            self.lease[owner] = max(left, self.lease.get(owner, -2))
        self.records = {key: json.loads(value) for key, value in zip(holds[::2], holds[1::2])}
        for record in self.records.values():
            record["since_ms"] += passed
        self.line = [(who, float(until or 0) + passed)  # until when each is believed to live
                     for who, until in zip(line[::2], line[1::2])]
        self.revoked = set(revoked)
        self.noted = noted  # holds of acquire that were released

    def waiting(self):
        return [who for who, _ in self.line]

    def left(self, field):
        """ms that the hold in this field of the hash has, less than 0: it is dead."""
        if field not in self.fields or self.ttl < 0:
            return -2
        return self.lease.get(field, -2) if is_beside(self.mode) else self.ttl

    def left_of(self, owner):
        return max(self.left(owner), self.left(owner + ":write"))

    def living(self, least=0):
        return [field for field in self.fields if self.left(field) >= least]

    def records_in(self, field):
        """The records of the holds that this field counts."""
        owner = field.removesuffix(":write")
        return {i: r for i, r in self.records.items() if owner_of(i) == owner
                and (mode_in(r) == "write") == (owner != field)}


class Hold:
    """What a claim was granted of one name, or what is kept of it: until `end`, by its own account,
    which counts from before the request."""

    def __init__(self, name, owner, serial, mode, slot, slots, token, end):
        self.name, self.owner, self.serial, self.mode = name, owner, serial, mode
        self.slot, self.slots, self.token, self.end = slot, slots, token, end
        self.revoked = False

    @property
    def id(self):
        return f"{self.owner}#{self.serial}"

    def __repr__(self):
        return f"{self.id} {self.mode}{'' if self.slot is None else self.slot} of {self.name}"


def fit(one, other):
    """May these two holds stand beside each other?"""
    if "slots" in (one.mode, other.mode):
        return one.mode == other.mode and one.slots == other.slots and one.slot != other.slot
    return one.mode == other.mode == "shared"
