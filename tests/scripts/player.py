# SPDX-License-Identifier: MIT
"""Thinks of the next operation, from a seed and from what the world is like. Operations are plain
lists, the first word says which one (see play.py), and can be written down and played again."""
import random

import claims


class Player:
    def __init__(self, seed, java):
        self.rng = rng = random.Random(seed)
        self.java = java  # "none", "lock" or "pair": what Redisson takes
        modes = ["write", "shared", "slots"] + (["exclusive"] if java != "pair" else [])
        self.modes = rng.choice([modes, rng.sample(modes, 2), rng.sample(modes, 1)])
        self.slots = rng.choice([[1], [2], [3], [2], [3], [2, 3]])
        self.names = rng.choice([["n"], ["n"], ["n", "m"]])
        self.ttls = rng.choice([[300], [300, 1000], [50, 200, 1000, 4000], [100, 3000]])
        self.nested = rng.choice([0, 0.3, 0.7])
        self.busy = rng.choice([0.3, 0.6])  # how often one that holds renews or looks
        self.late = rng.choice([0.02, 0.1, 0.25])
        self.revoked = rng.choice([0.01, 0.03, 0.1])
        # Holds of acquire, and claims that rely on them; drawn apart from all else.
        self.steps = random.Random(f"{seed} steps")
        self.acquires = self.steps.choice([0, 0, 0.5])
        self.sent = []      # operations that may be sent again
        self.claims = {}    # id -> words of its acquire, of who asks or holds
        self.next_id = 0

    def next(self, world):
        rng = self.rng
        if self.java != "none" and rng.random() < 0.2:
            return self.redisson()
        if self.sent and rng.random() < self.late:
            return self.late_copy()
        if rng.random() < 0.17:
            return self.let_pass(world)
        if rng.random() < self.revoked:
            return self.revoke(world)
        if rng.random() < 0.03:
            return ["inspect", rng.choice(self.names)]
        self.claims = {c: words for c, words in self.claims.items() if c not in world.gone}
        if len(self.claims) < 5 and rng.random() < 0.3 or not self.claims:
            return self.new_claim(world)
        return self.go_on(world, rng.choice(list(self.claims)))

    def send(self, *op):
        self.sent.append(list(op))
        return list(op)

    def late_copy(self):
        op = list(self.rng.choice(self.sent[-60:]))
        if op[0] in ("acquire", "renew", "release"):
            op[-1] = False
        return op

    def let_pass(self, world):
        """Often until something is just about to end, or just has."""
        rng = self.rng
        now = next(iter(world.states.values())).now
        ends = [state.left(field) for state in world.states.values() for field in state.fields]
        ends += [state.ttl for state in world.states.values()]
        ends += [int(hold.end - now) for hold in world.holds.values()]
        ends = [ms for ms in ends if ms > 0]
        kind = rng.random()
        if ends and kind < 0.4:
            return ["pass", max(rng.choice(ends) + rng.choice([-12, 3, 8, 20]), 1)]
        if kind < 0.8:
            return ["pass", rng.choice([1, 10, 40, 100, 100, 300])]
        return ["pass", rng.choice([500, 1100, 1100, 3000, 11000])]

    def new_claim(self, world):
        rng = self.rng
        self.next_id += 1
        above, parents = [], [c for c in self.claims if any(k[0] == c for k in world.holds)]
        if parents and rng.random() < self.nested:
            parent = rng.choice(parents)
            above = [[h.name, h.owner, h.serial] for k, h in world.holds.items() if k[0] == parent]
            above += [hold for hold in self.claims[parent][8] if rng.random() < 0.9]
        names = rng.sample(self.names, rng.choice([1, len(self.names)]))
        reads = above and "shared" in self.modes and rng.random() < 0.4
        mode = "shared" if reads else rng.choice(self.modes)
        once = rng.choice([0, 0, 0, 0, 400, 2000])
        by_acquire = self.steps.random() < self.acquires
        relies_on = [f"{hold[1]}#{hold[2]}" for hold in above
                     if claims.is_of_acquire(hold[2]) and self.steps.random() < 0.8]
        self.claims[self.next_id] = [
            names, f"c{self.next_id}:1", f"a{self.next_id:016x}" if by_acquire else
            f"s{self.next_id}", rng.choice(self.ttls),
            rng.choice(["", "polls", "polls", "hears"]), mode,
            rng.choice(self.slots) if mode == "slots" else 0, once, above, relies_on]
        return self.ask(self.next_id)

    def ask(self, claim):
        return self.send("acquire", claim, self.claims[claim], self.rng.random() < 0.8)

    def go_on(self, world, claim):
        held = [hold for key, hold in world.holds.items() if key[0] == claim]
        return self.with_hold(world, claim, held) if held else self.without_hold(world, claim)

    def without_hold(self, world, claim):
        rng = self.rng
        names, owner, serial, _, stand, *_, above, _ = self.claims[claim]
        if rng.random() < 0.75:
            return self.ask(claim)
        if stand and rng.random() < 0.5:
            me = [who for name in names for who in world.states[name].waiting()
                  if who.startswith('{"id":"%s#' % owner)]
            if me:
                return self.send("leave", claim, [names, me[0]])
        if rng.random() < 0.5:
            return ["kill", claim]
        whose = rng.choice([owner] + [hold[1] for hold in above])
        return self.send("release", claim, [serial, 0, [[name, whose, 0] for name in names]], True)

    def with_hold(self, world, claim, held):
        rng = self.rng
        names, owner, serial, ttl, *_ = self.claims[claim]
        kind = rng.random()
        lives = all(hold.end > world.states[hold.name].now + 50 for hold in held)
        if lives and kind < (0.4 if any(hold.revoked for hold in held) else 0.1):
            return self.ask(claim)
        if kind < 0.1 + self.busy and len(held) == len(names):
            look = rng.random() < 0.4
            words = [serial, 0 if look else ttl, rng.choice([0, ttl]) if look else 0,
                     [[hold.name, hold.owner, hold.mode] for hold in held]]
            return self.send("renew", claim, words, rng.random() < 0.8)
        if kind < 0.17 + self.busy:
            return ["kill", claim]
        keep = rng.choice([0, 0, 60, 500, 3000])
        tell = rng.choice([0, 0, 500, 3000])
        holds = [[hold.name, hold.owner, keep if hold.owner == owner else 0] for hold in held]
        return self.send("release", claim, [serial, tell, holds], True)

    def revoke(self, world):
        rng, name = self.rng, self.rng.choice(self.names)
        state = world.states[name]
        owner = of_record = ""
        if state.records and rng.random() < 0.5:
            which = rng.choice(sorted(state.records))
            if rng.random() < 0.5:
                owner = which.rpartition("#")[0]
            else:
                of_record = which
        op = ["revoke", name, rng.random() < 0.3, owner, of_record]
        return self.send(*op) if owner or of_record else op

    def redisson(self):
        rng = self.rng
        what = rng.choice(["lock"] if self.java == "lock" else ["read", "read", "write"])
        if rng.random() < 0.5:
            what = "un" + what
        return ["redisson", what, f"java{rng.randrange(2)}:7", rng.choice(self.names),
                rng.choice([300, 3000])]
