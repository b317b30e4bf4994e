# SPDX-License-Identifier: MIT
"""The total order of the store, from MONITOR, and a state machine that follows it: who holds which
lock until when, and whether each write was the right of who wrote it (I7, I13, tokens of I2).

Times of the server are in µs of its own clock, as MONITOR prints them; what comes out is BOOTTIME.
An expiry that is closer than SLACK to what happens may have been before or after it."""
import json
import re
from dataclasses import dataclass, field

from history import Held, Violation
from line import Line, LineStep, id_of

SLACK = 5000
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')
HEAD = re.compile(r"^(\d+)\.(\d{6}) \[\d+ ([^\]]+)\] ")
PLAIN = {"evalsha", "eval", "subscribe", "unsubscribe", "scan", "auth", "select", "client", "hello",
         "ping", "echo", "time", "info", "role"}
PASS_ON = {("ZREM", "line"), ("ZREM", "waiters"), ("ZADD", "waiters")}
RIGHTS = {
    "acquire": {("SET", "token"), ("DEL", "holds"), ("DEL", "revoked"), ("HSET", "lock"),
                ("PEXPIRE", "lock"), ("HSET", "holds"), ("PEXPIRE", "holds"), ("HINCRBY", "lock"),
                ("PEXPIRE", "token"), ("ZADD", "line"), ("PEXPIRE", "line"),
                ("PEXPIRE", "waiters"), *PASS_ON},
    "renew": {("HDEL", "holds"), ("HSET", "holds"), ("PEXPIRE", "lock"), ("PEXPIRE", "holds")},
    "release": {("HDEL", "holds"), ("HINCRBY", "lock"), ("HDEL", "lock"), ("DEL", "revoked"),
                ("DEL", "holds"), *PASS_ON},
    "revoke": {("DEL", "lock"), ("DEL", "holds"), ("DEL", "revoked"), ("HSET", "revoked"),
               ("PEXPIRE", "revoked"), *PASS_ON},
    "leave": PASS_ON,
    "inspect": set(),
}
READS = {"TYPE", "TIME", "GET", "PTTL", "HEXISTS", "HGET", "HGETALL", "HLEN", "EXISTS", "PUBLISH",
         "ZSCORE", "ZCARD", "ZCOUNT", "ZRANK", "ZRANGE", "ZRANGEBYSCORE"}
# A script is known by how many keys and arguments it has; acquire has more with each ancestor.
SCRIPTS = {(3, 3): "renew", (5, 4): "release", (5, 6): "revoke", (3, 2): "leave", (5, 0): "inspect"}
KEY = re.compile(r"(redisson_lock_token|dlock:(?:holds|revoked|line|waiters)):\{dlock:(.*)\}")


def unquote(text):
    if "\\" not in text:
        return text
    return text.encode("latin-1", "replace").decode("unicode_escape", "replace")


@dataclass
class Script:
    kind: str
    who: str
    begun: int
    ended: int
    keys: list
    args: list
    inner: list = field(default_factory=list)


@dataclass
class Lock:
    name: str
    owners: dict = field(default_factory=dict)   # owner: count
    expiry: int | None = None
    holds: dict = field(default_factory=dict)    # id: token
    token: int = 0
    released: set = field(default_factory=set)
    foreign: bool = False
    open: dict = field(default_factory=dict)     # owner: Held
    line: Line = field(default_factory=Line)


class Shadow:
    """feed() takes the lines in order; `history` gets what they mean."""

    def __init__(self, history, to_boot):
        self.history, self.to_boot = history, to_boot
        self.locks, self.ours, self.duplicates = {}, set(), set()
        self.script, self.now = None, 0

    # --- lines ---------------------------------------------------------------------------------

    def feed(self, line):
        if line.startswith("# snapshot "):
            self.finish()
            return self.snapshot(json.loads(line[11:]))
        head = HEAD.match(line)
        if not head:
            return None
        self.now = int(head[1]) * 1_000_000 + int(head[2])
        words = [unquote(w) for w in WORD.findall(line, head.end())]
        if head[3] == "lua":
            if self.script:
                self.script.inner.append(words)
                self.script.ended = self.now
            return None
        self.finish()
        return self.top(head[3], words)

    def top(self, who, words):
        command = words[0].lower()
        if command == "client" and words[1].lower() == "setname":
            {"chaos": self.ours, "duplicate": self.duplicates}.get(words[2], set()).add(who)
        if command in ("eval", "evalsha"):
            keys = int(words[2])
            args = words[3 + keys:]
            kind = "acquire" if keys == 6 else SCRIPTS.get((keys, len(args)))
            if kind is None:
                return self.accuse("I7", words[3] if keys else "", "an unknown script")
            self.script = Script(kind, who, self.now, self.now, words[3:3 + keys], args)
        elif who in self.ours:
            self.by_hand(words)
        elif command not in PLAIN:
            self.accuse("I7", words[1] if len(words) > 1 else "",
                        f"a command outside of the scripts: {' '.join(words)[:80]}")
        return None

    def role(self, key):
        """The lock that a key belongs to, and what it is there."""
        match = KEY.fullmatch(key)
        if match:
            return self.lock(match[2]), match[1].rsplit("_")[-1].rsplit(":")[-1]
        if key.startswith("dlock:"):
            return self.lock(key[6:]), "lock"
        return None, ""

    def lock(self, name):
        return self.locks.setdefault(name, Lock(name))

    def accuse(self, rule, lock, text):
        self.history.store_violations.append(
            Violation(rule, self.to_boot(self.now), text, lock))

    # --- what the run itself does to the store ---------------------------------------------------

    def by_hand(self, words):
        command = words[0].upper()
        if command in ("FLUSHALL", "DEL", "SET"):
            for lock in list(self.locks.values()):
                if command == "FLUSHALL" or f"dlock:{lock.name}" in words[1:]:
                    self.clear(lock, "removed", self.now)
                    lock.foreign = command == "SET"
                    if command == "FLUSHALL":
                        lock.line.clear("forgotten", self.to_boot(self.now))
                    self.tell(lock, f"the run says {' '.join(words)[:60]}")

    def snapshot(self, state):
        """The server was restarted: it says what it still knows, and is believed."""
        self.now = state["now"]
        for lock in list(self.locks.values()) + [self.lock(n) for n in state["locks"]]:
            seen = state["locks"].get(lock.name, {"owners": {}, "pttl": -2, "holds": {},
                                                  "line": {}, "waiters": {}})
            lock.line.believe(lock.name, seen, self.to_boot(self.now), self.history)
            owners = {o: int(n) for o, n in seen["owners"].items()}
            if lock.owners and not owners:
                expired = lock.expiry is not None and lock.expiry <= self.now + SLACK
                self.clear(lock, "expired" if expired else "removed", self.now)
            for owner in set(lock.owners) - set(owners):
                self.close(lock, owner, "released", self.now)
            for owner in set(owners) - set(lock.owners):
                self.opened(lock, owner)
            lock.owners, lock.holds = owners, dict.fromkeys(seen["holds"], 0)
            lock.foreign = False
            lock.expiry = self.now + seen["pttl"] * 1000 if owners else None
            for owner in owners:
                leases = self.history.leases.setdefault((lock.name, owner), [])
                leases.append((self.to_boot(self.now), self.to_boot(lock.expiry)))

    # --- scripts ---------------------------------------------------------------------------------

    def finish(self):
        script, self.script = self.script, None
        if not script:
            return
        lock, _ = self.role(script.keys[0])
        if lock is None:
            return
        late = self.now
        self.now = script.ended
        slack = SLACK + script.ended - script.begun
        if lock.owners and lock.expiry is not None and script.begun > lock.expiry + slack:
            self.clear(lock, "expired", lock.expiry)
        if lock.line.expiry is not None and script.begun > lock.line.expiry + slack:
            lock.line.clear("late", self.to_boot(lock.line.expiry))
        Step(self, lock, script, slack).run()
        self.now = late

    def tell(self, lock, text):
        self.history.store.append((self.to_boot(self.now), lock.name, text))

    def opened(self, lock, owner):
        held = Held(lock.name, owner, self.to_boot(self.now))
        lock.open[owner] = held
        self.history.held.append(held)

    def close(self, lock, owner, how, at):
        held = lock.open.pop(owner, None)
        if held:
            held.end, held.how = self.to_boot(at), how

    def clear(self, lock, how, at):
        for owner in list(lock.open):
            self.close(lock, owner, how, at)
        if how == "expired" and lock.owners:
            self.history.store.append((self.to_boot(at), lock.name, "expired"))
        lock.owners, lock.holds, lock.expiry = {}, {}, None

    def end(self):
        self.finish()
        for lock in self.locks.values():
            if lock.owners and lock.expiry is not None and lock.expiry < self.now:
                self.clear(lock, "expired", lock.expiry)


class Step:
    """One script on one lock: its writes, one after the other, against the state before."""

    def __init__(self, shadow, lock, script, slack):
        self.shadow, self.lock, self.script, self.slack = shadow, lock, script, slack
        args = script.args
        self.owner = args[0] if args and script.kind != "leave" else ""
        self.id = "#".join(args[:2]) if script.kind != "leave" else id_of(args[0])
        self.ttl = int(args[2]) * 1000 if script.kind in ("acquire", "renew") else 0
        self.token = 0
        self.done = set()
        self.line = LineStep(self)

    def bad(self, text, rule="I7"):
        self.shadow.accuse(rule, self.lock.name, f"{self.script.kind} by {self.id[:60]}: {text}")

    def run(self):
        names = [words[0].upper() for words in self.script.inner]
        for words in self.script.inner:
            command = words[0].upper()
            if command == "PUBLISH":
                self.line.publish(*words[1:])
            if command in READS:
                continue
            for key in words[1:] if command == "DEL" else words[1:2]:
                lock, role = self.shadow.role(key)
                if lock is not self.lock or (command, role) not in RIGHTS[self.script.kind]:
                    self.bad(f"must not {command} {key}")
                else:
                    self.done.add((command, role))
                    self.write(command, role, words)
        if self.script.kind == "renew":
            self.verdict(names)
        if self.script.kind == "acquire" and ("PEXPIRE", "lock") in self.done:
            self.shadow.tell(self.lock, f"acquire {self.id}: granted, token {self.token}")
        elif self.script.kind in ("release", "revoke") and self.done:
            self.shadow.tell(self.lock, f"{self.script.kind} {self.id}")
        self.check_after()
        self.line.check_after(self.frees())

    def frees(self):
        """The lock is free by this script, or was so for certain when its writer left the line."""
        lock = self.lock
        if lock.owners or lock.foreign:
            return False
        ways = {("HDEL", "lock"), ("DEL", "lock"), ("ZREM", "line")}
        return self.script.kind in ("release", "revoke", "leave") and bool(ways & self.done)

    def verdict(self, names):
        """What a renewal was told shows in what the script did next."""
        if "HDEL" not in names:
            return  # refused before its first write, or the script was not known
        if "TIME" not in names:  # it did not look who has it now
            return self.shadow.tell(self.lock, f"renew {self.id}: kept")
        self.shadow.tell(self.lock, f"renew {self.id}: lost")
        if self.script.who not in self.shadow.duplicates and self.id not in self.lock.released:
            at = self.shadow.to_boot(self.script.ended)
            self.shadow.history.told_lost.append((at, self.lock.name, self.id))

    def write(self, command, role, words):
        act = getattr(self.line if role in ("line", "waiters") else self,
                      f"{command.lower()}_{role}", None)
        if act:
            act(words)

    # --- the writes that change who holds --------------------------------------------------------

    def set_token(self, words):
        self.token = int(words[2]) if words[2].isdigit() else 0
        if self.token <= self.lock.token:
            self.bad(f"token {words[2]} after {self.lock.token}", "I2")
        self.lock.token = max(self.lock.token, self.token)

    def hset_lock(self, words):
        lock, owner = self.lock, words[2]
        due = lock.expiry is not None and self.script.begun >= lock.expiry - self.slack
        if lock.owners and due:
            self.shadow.clear(lock, "expired", min(lock.expiry, self.script.begun))
        if lock.owners or lock.foreign:
            self.bad(f"granted while held by {', '.join(lock.owners) or 'a foreign lock'}")
            self.shadow.clear(lock, "removed", self.script.begun)
        lock.foreign = False
        self.line.before_grant()
        if owner != self.owner:
            self.bad(f"writes the owner {owner}")
        if not self.token:
            self.bad("the token is not of this grant")
        lock.owners = {owner: int(words[3])}
        self.shadow.opened(lock, owner)
        self.shadow.history.grants.append(
            (self.shadow.to_boot(self.script.ended), lock.name, self.id, self.token))

    def hset_holds(self, words):
        if self.script.kind == "renew":
            if self.id in self.lock.released:
                self.bad("brings a released hold back")
            self.lock.holds.setdefault(words[2], 0)
            return
        match = re.match(r'\{"token":(\d+)', words[3])
        token = int(match[1]) if match else 0
        if self.token and token != self.token:
            self.bad(f"the record has token {token}, the grant {self.token}")
        self.lock.holds[words[2]] = token
        self.lock.released.discard(words[2])  # a late copy of its acquire: see ghosts
        self.token = token

    def hdel_holds(self, words):
        self.known = words[2] in self.lock.holds
        self.lock.holds.pop(words[2], None)
        if self.script.kind == "release" and self.known:
            self.lock.released.add(words[2])

    def del_holds(self, _):
        self.lock.holds.clear()

    def hincrby_lock(self, words):
        lock, owner, by = self.lock, words[2], int(words[3])
        if owner not in lock.owners:
            self.bad(f"counts for {owner}, who does not hold")
        if by < 0 and (self.script.kind != "release" or not self.known):
            again = self.id in lock.released
            self.bad("given back twice" if again else "gives back what it has not", "I13")
        if by > 0 and self.script.kind != "acquire":
            self.bad("counts up")
        lock.owners[owner] = lock.owners.get(owner, 0) + by

    def hdel_lock(self, words):
        owner = words[2]
        if owner != self.owner:
            self.bad(f"removes {owner}")
        if self.lock.owners.pop(owner, 0) > 0:
            self.bad(f"removes {owner}, who has holds left")
        if owner in self.lock.open:
            self.lock.open[owner].released = self.shadow.to_boot(self.script.begun)
        self.shadow.close(self.lock, owner, "released", self.script.begun)
        if not self.lock.owners:
            self.lock.expiry = None

    def del_lock(self, _):
        if self.script.args[1] != "1":
            self.bad("deletes the lock")
        self.shadow.clear(self.lock, "removed", self.script.begun)
        self.lock.foreign = False

    def pexpire_lock(self, words):
        lock = self.lock
        expiry = self.script.ended + int(words[2]) * 1000
        if self.script.kind == "renew" and self.owner not in lock.owners:
            self.bad("extends a lock that it does not hold")
        if int(words[2]) * 1000 != self.ttl:
            self.bad(f"a lease of {words[2]} ms")
        if lock.expiry is not None and expiry < lock.expiry - self.slack:
            self.bad(f"shortens the lease by {(lock.expiry - expiry) // 1000} ms")
        lock.expiry = expiry
        at, end = self.shadow.to_boot(self.script.ended), self.shadow.to_boot(expiry)
        for owner in lock.owners:
            self.shadow.history.leases.setdefault((lock.name, owner), []).append((at, end))

    def check_after(self):
        lock = self.lock
        if not lock.owners:
            return
        kept = all(n == self.living(owner) for owner, n in lock.owners.items())
        if not kept and lock.expiry is not None and self.script.ended > lock.expiry - self.slack:
            return self.shadow.clear(lock, "expired", lock.expiry)  # the script had seen it go
        if lock.expiry is None:
            self.bad("leaves a lock without expiry")
            lock.expiry = self.script.ended + 3600 * 1_000_000
        for owner, count in lock.owners.items():
            living = self.living(owner)
            if count != living and self.shadow.history.kind == "G":
                self.bad(f"{owner} counts {count}, {living} holds live", "I13")
                lock.owners[owner] = living or count
        return None

    def living(self, owner):
        return sum(id.startswith(owner + "#") for id in self.lock.holds)
