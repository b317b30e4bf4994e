# SPDX-License-Identifier: MIT
"""What a chaos run leaves behind, in one shape, whoever recorded it: the checks and the self-test
of the checks know nothing else. All times are CLOCK_BOOTTIME in ns."""
from dataclasses import dataclass, field

MS = 1_000_000
SECOND = 1000 * MS


@dataclass
class Terms:
    """The arithmetic of one lease (ARCHITECTURE.md, Lease)."""
    ttl: int = SECOND
    kill_after: int = 200 * MS

    @property
    def drift(self):
        return self.ttl // 100 + 10 * MS

    @property
    def kill_time(self):
        return max(100 * MS, self.ttl // 100)

    @property
    def call_limit(self):
        return min(self.ttl // 10, 5 * SECOND)

    @property
    def bound(self):
        """How long a child may outlive a lock that was taken from it: the next renewal, the limit
        of that call, the grace after a verdict, and the time that a KILL takes."""
        return self.ttl // 3 + self.call_limit + min(self.kill_after, SECOND) + self.kill_time


@dataclass
class Violation:
    rule: str
    at: int
    text: str
    lock: str = ""

    def __str__(self):
        return f"{self.rule} {self.lock}: {self.text}"


@dataclass
class Run:
    """One `dlock run … -- section …`."""
    id: str
    lock: str                    # its names, joined by commas
    client: int = 0
    pid: int = 0
    start: int = 0
    end: int = 0                 # when dlock was reaped; 0: it never was
    status: int = 0              # negative: the signal
    child_code: int = 0          # what the section ends with, if it ends by itself
    sent: list = field(default_factory=list)     # (time, signal) of the nemesis to dlock
    warn: bool = False           # with --on-lost warn
    one_of: bool = False         # it wants one of its names; when it has begun, `lock` is that one
    nested: bool = False         # the command is another `dlock run` of the same lock
    asked: str = ""              # how its command asked for it: exclusive, write, shared, slots
    max_hold: int = 0            # 0: it had no such limit
    min_hold: int = 0
    renews: bool = True          # without --no-renew
    events: list = field(default_factory=list)   # dlock's own, as dictionaries
    result: dict = field(default_factory=dict)   # its result file
    notes: list = field(default_factory=list)    # (time, pid, words) of the section's processes
    alive: list = field(default_factory=list)    # pids of the section seen alive after dlock's end

    def begins(self):
        return [n for n in self.notes if n[2][0] == "begin"]

    def first(self):
        return self.notes[0][0] if self.notes else 0

    def last(self):
        return max(n[0] for n in self.notes) if self.notes else 0

    @property
    def names(self):
        return self.lock.split(",")

    def told(self, what, name=None):
        """What its section was told of a name: 1 the token, 2 the owner, 3 the mode, 4 the slot,
        5 the name itself."""
        words = self.begins()[0][2] if self.notes and self.begins() else []
        each = words[what].split(",") if what < len(words) else []
        at = self.names.index(name) if name else 0
        return each[at] if at < len(each) and each[at] != "-" else ""

    def token(self, name=None):
        text = self.told(1, name)
        return int(text) if text.isdigit() else 0

    def owner(self, name=None):
        return self.told(2, name)

    def mode(self):
        """As in records; a section writes down the word that dlock has for users."""
        word = self.told(3)
        return {"plain": "exclusive", "exclusive": "write"}.get(word, word) or self.asked \
            or "exclusive"

    def slot(self, name=None):
        text = self.told(4, name)
        return int(text) if text.isdigit() else None

    def resources(self):
        """What it may write to: one for each name that it has for itself, or one for the slot."""
        if self.mode() == "slots":
            return [f"{name}.{self.slot(name)}" for name in self.names]
        return [] if self.mode() == "shared" else self.names

    def has(self, what):
        return self.count(what) > 0

    def count(self, what):
        return sum(n[2][0] == what for n in self.notes)

    def said(self, *names):
        return [e for e in self.events if e.get("event") in names]

    def came(self):
        """A time before which it cannot have been granted its token."""
        return next((e["boot_ns"] for e in self.said("granted")), self.start)

    def sent_kill(self):
        return [t for t, number in self.sent if number == 9]

    def announced(self):
        """(time, safe_until) as dlock said them, in order."""
        return [(e["boot_ns"], e["safe_until_ns"]) for e in self.said("granted", "renewed")
                if "safe_until_ns" in e]

    def safe_until(self, at):
        """The best that had been announced by then; 0: nothing."""
        return max((until for said, until in self.announced() if said <= at), default=0)


@dataclass
class Held:
    """An owner in the store, from its first grant to the end of its last hold. One that is kept
    for nobody has the owner `…#kept`."""
    lock: str
    owner: str
    start: int
    end: int = 0                 # 0: still there when the recording ended
    how: str = ""                # released, expired, removed
    released: int = 0            # when its last hold was given back
    mode: str = "exclusive"      # or write, shared, slots
    id: str = ""                 # of the hold that took it; others may have joined that
    own: int = 0                 # when this one was given back


@dataclass
class Stand:
    """A waiter in line, from its arrival to when it was out of it."""
    lock: str
    id: str                      # owner#serial
    since: int
    end: int = 0                 # 0: still there when the recording ended
    how: str = ""                # granted, left; late, deaf: others took its place; forgotten
    beats: list = field(default_factory=list)    # when it was heard of, its arrival included
    mode: str = "exclusive"      # what it waits for


@dataclass
class Fault:
    start: int
    end: int
    kind: str
    target: str = ""


@dataclass
class History:
    terms: Terms = field(default_factory=Terms)
    kind: str = "G"
    runs: list = field(default_factory=list)
    held: list = field(default_factory=list)
    stands: list = field(default_factory=list)
    grants: list = field(default_factory=list)   # (time, lock, hold id, token), in store order
    leases: dict = field(default_factory=dict)   # (lock, owner): [(time, end)], as the store set it
    told_lost: list = field(default_factory=list)  # (time, lock, hold id): renewals refused
    store: list = field(default_factory=list)    # (time, lock, text), for the timeline
    store_violations: list = field(default_factory=list)
    faults: list = field(default_factory=list)
    slots: dict = field(default_factory=dict)    # name: how many it has, where it has some
    writes: dict = field(default_factory=dict)   # resource: [(token, run, accepted)]
    counts: dict = field(default_factory=dict)   # Run.lock: begins, by the second server
    sums: dict = field(default_factory=dict)     # resource: the number that was read and written
    healing: list = field(default_factory=list)  # (time, lock, text): what went wrong in it
    late: list = field(default_factory=list)     # (from, to): a processor gave nobody a turn
    slow: list = field(default_factory=list)     # (from, to): a write to the disk took so long

    def locks(self):
        return sorted({name for run in self.runs for name in run.names})

    def of(self, lock):
        return [run for run in self.runs if lock in run.names]

    def starved(self, start, end):
        """Was there no processor for half of that time? The promise needs one (A3): dlock or its
        guard must get a turn, and programs of the run that want only that say when they did not."""
        return missed(self.late, start, end) > (end - start) / 2

    def hindered(self, start, end):
        """The same for what dlock alone has to do in time, without its guard: it writes a log, and
        the server a file. A write is late as well where the processor was."""
        return max(missed(self.late, start, end), missed(self.slow, start, end)) > (end - start) / 2


def missed(times, start, end):
    return sum(max(0, min(b, end) - max(a, start)) for a, b in times)
