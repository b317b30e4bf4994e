# SPDX-License-Identifier: MIT
"""The total order of the store, from MONITOR: which script did what, and what that means: who held
which lock until when (Held), how long the leases were, what was granted and refused. Whether each
script was right is asked in step.py.

Times of the server are in µs of its own clock, as MONITOR prints them; what comes out is BOOTTIME.
An expiry that is closer than SLACK to what happens may have been before or after it."""
import hashlib
import json
import re

from history import Held, Violation
from state import KEPT, Lock, role_of
from step import SLACK, Script, Step

WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')
HEAD = re.compile(r"^(\d+)\.(\d{6}) \[\d+ ([^\]]+)\] ")
PLAIN = {"evalsha", "eval", "subscribe", "unsubscribe", "ssubscribe", "scan", "auth", "select",
         "client", "hello", "ping", "echo", "time", "info", "role"}
NOTHING = {"fields": {}, "ends": -2, "holds": {}, "leases": {}, "line": {}, "waiters": {}}
MODES = {"exclusive": "exclusive", "write": "write", "read": "shared"}


def unquote(text):
    if "\\" not in text:
        return text
    return text.encode("latin-1", "replace").decode("unicode_escape", "replace")


class Shadow:
    """feed() takes the lines in order; `history` gets what they mean."""

    def __init__(self, history, to_boot):
        self.history, self.to_boot = history, to_boot
        self.locks, self.ours, self.duplicates = {}, set(), set()
        self.choosers = set()    # ids of those that want one of several names
        self.kinds = {}          # SHA1 of a script: its name, from its first line
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
            self.script = Script(self.kind(command, words[1]), who, self.now, self.now,
                                 words[3:3 + keys], words[3 + keys:])
        elif who in self.ours:
            self.by_hand(words)
        elif command not in PLAIN:
            self.accuse("I7", words[1] if len(words) > 1 else "",
                        f"a command outside of the scripts: {' '.join(words)[:80]}")
        return None

    def kind(self, command, text):
        """An EVALSHA that nobody has sent as a text before is refused, and does nothing."""
        if command == "evalsha":
            return self.kinds.get(text, "")
        name = re.match(r"-- (\w+):", text)
        sha = hashlib.sha1(text.encode("latin-1", "replace")).hexdigest()
        return self.kinds.setdefault(sha, name[1] if name else "?")

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
            seen = state["locks"].get(lock.name, NOTHING)
            lock.line.believe(lock.name, seen, self.to_boot(self.now), self.history)
            self.expire(lock, self.now + SLACK)
            before = set(lock.owners())
            lock.believe(seen, self.now)
            owners = lock.owners()
            for owner in before - set(owners):
                self.close(lock, owner, "released" if owners else "removed", self.now)
            for owner, who in owners.items():
                if owner not in lock.open:
                    self.opened(lock, owner)
                self.leased(lock, owner, who.end)

    # --- scripts ---------------------------------------------------------------------------------

    def finish(self):
        script, self.script = self.script, None
        if not script or not script.kind:
            return
        locks = list(dict.fromkeys(role_of(key)[0] for key in script.keys))
        late, self.now = self.now, script.ended
        script.one = script.kind == "acquire_one"
        script.kind = "acquire" if script.one else script.kind
        if script.kind not in Step.KINDS or "" in locks:
            self.accuse("I7", locks[0] if locks else "", f"an unknown script, {script.kind}")
        else:
            slack = SLACK + script.ended - script.begun
            for name in locks:
                lock = self.lock(name)
                self.expire(lock, script.begun - slack)
                if lock.line.expiry is not None and script.begun > lock.line.expiry + slack:
                    lock.line.clear("late", self.to_boot(lock.line.expiry))
            steps = {name: Step(self, self.lock(name), script, slack) for name in locks}
            Step.run(steps, script)
        self.now = late

    def tell(self, lock, text):
        self.history.store.append((self.to_boot(self.now), lock.name, text))

    def leased(self, lock, owner, end):
        self.history.leases.setdefault((lock.name, owner), []).append(
            (self.to_boot(self.now), self.to_boot(end)))

    def opened(self, lock, owner):
        mode = lock.mode().split(":")[0]
        held = Held(lock.name, owner, self.to_boot(self.now), mode=MODES.get(mode, mode))
        lock.open[owner.removesuffix(KEPT)] = held
        self.history.held.append(held)
        return held

    def close(self, lock, owner, how, at):
        held = lock.open.pop(owner, None)
        if held:
            held.end, held.how = self.to_boot(at), how

    def expire(self, lock, now):
        """Whoever's lease has ended before `now` for certain."""
        for owner, who in lock.owners().items():
            if who.end < now:
                self.close(lock, owner, "expired", who.end)
                self.history.store.append((self.to_boot(who.end), lock.name,
                                           f"the lease of {owner} has ended"))
                lock.forget(owner)
        if not lock.owners() and (not lock.dead or (lock.expiry or 0) < now):
            lock.clear()

    def clear(self, lock, how, at):
        for owner in list(lock.open):
            self.close(lock, owner, how, at)
        lock.clear()

    def end(self):
        self.finish()
        for lock in self.locks.values():
            self.expire(lock, self.now)
