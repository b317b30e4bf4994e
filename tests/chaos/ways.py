# SPDX-License-Identifier: MIT
"""In which ways the clients of a run hold what, drawn from its seed: plain locks, pairs of readers
and writers, slots, several names at once, one of several; limits on how long; runs within runs. Each way has locks
of its own, where plain runs get in between."""
from dataclasses import dataclass, field

WAYS = ("pair", "slots", "plain", "names", "pool")
LOCKS = {"plain": ["a"], "pair": ["r"], "slots": ["s"], "names": ["p", "q"],
         "pool": ["x", "y", "z"]}
WEIGHT = {"plain": 2, "pair": 3, "slots": 4, "names": 3, "pool": 4}   # how often a run is of it
ALONE = ("exclusive", "write")


@dataclass
class Choice:
    """What one run is to do: `dlock run OUTER [-- dlock run INNER] -- section`."""
    outer: list          # options and names
    inner: list          # the same of a nested run, or nothing
    names: list          # as the section is told them
    asked: str           # how it holds them: exclusive, write, shared, slots
    limits: list = field(default_factory=list)
    max_hold: float = 0.0   # s
    min_hold: float = 0.0
    renews: bool = True
    one_of: bool = False    # of the names it gets one


def draw_ways(seed, rng, clients):
    """As many as there are clients to fight for them; seeds that follow each other begin with
    another one each."""
    first = WAYS[(seed + 3) % len(WAYS)]
    others = [way for way in WAYS if way != first]
    rng.shuffle(others)
    return [first, *others][:max(1, min(3, clients // 2))]


def locks_of(ways, rng, clients):
    """way: its names. Who has only plain ones has some of these."""
    if ways == ["plain"]:
        return {"plain": ["a", "b", "c"][:rng.randint(1, max(1, min(3, clients // 2)))]}
    return {way: LOCKS[way] for way in ways}


def named(names, option="--and"):
    """The words of `dlock run` for these names, which the command is told in this order."""
    first, *others = names
    return [word for name in others for word in (option, name)] + [first]


class Drawer:
    def __init__(self, locks, slots, nested, limited):
        self.locks, self.ways, self.nested, self.limited = locks, list(locks), nested, limited
        self.options = {"exclusive": [], "write": ["-x"], "shared": ["-s"],
                        "slots": ["--slots", str(slots)]}

    def draw(self, rng):
        way = rng.choices(self.ways, [WEIGHT[w] for w in self.ways])[0]
        choice = getattr(self, "of_" + way)(rng, rng.random() < self.nested)
        if self.limited:
            limit(choice, rng)
        return choice

    def choice(self, names, asked, inner_names=(), inner=""):
        """A reader within a writer reads; whatever else is within another is what that one is."""
        last = inner if (asked, inner) == ("write", "shared") else asked
        return Choice([*self.options[asked], *named(names)],
                      [*self.options[inner], *named(inner_names)] if inner else [],
                      list(inner_names or names), last)

    def of_plain(self, rng, nested):
        names = [rng.choice(self.locks["plain"])]
        return self.choice(names, "exclusive", names, "exclusive" if nested else "")

    def of_pair(self, rng, nested):
        asked = rng.choices(("shared", "write", "exclusive"), (6, 3, 1))[0]
        inner = rng.choice(("shared", "write", "exclusive")) if nested else ""
        if nested and asked == "shared" and rng.random() < 0.8:  # else it would wait for itself
            inner = "shared"
        return self.choice(self.locks["pair"], asked, self.locks["pair"], inner)

    def of_slots(self, rng, nested):
        asked = rng.choices(("slots", "exclusive", "shared"), (17, 2, 1))[0]
        return self.choice(self.locks["slots"], asked, self.locks["slots"], asked if nested else "")

    def of_names(self, rng, nested):
        names = rng.sample(self.locks["names"], 2 if rng.random() < 0.6 else 1)
        asked = "shared" if rng.random() < 0.1 else "exclusive"
        inner = rng.sample(names, len(names)) if nested else ()
        return self.choice(names, asked, inner, asked if nested else "")

    def of_pool(self, rng, nested):
        """One of some of the names, whichever; within it the same once more, in another order."""
        names = rng.sample(self.locks["pool"], rng.choice((1, 2, 3, 3, 3)))
        asked = rng.choices(("exclusive", "write"), (4, 1))[0]
        words = [*self.options[asked], *named(names, "--or")]
        inner = [*self.options[asked], *named(rng.sample(names, len(names)), "--or")]
        return Choice(words, inner if nested else [], names, asked, one_of=len(names) > 1)


def limit(choice, rng):
    dice = rng.random()
    if dice < 0.08:
        choice.max_hold = round(rng.uniform(0.1, 1.2), 2)
        choice.limits += ["--max-hold", f"{choice.max_hold}s"]
    elif dice < 0.14:
        choice.min_hold = round(rng.uniform(0.2, 1.2), 2)
        choice.limits += ["--min-hold", f"{choice.min_hold}s"]
    if rng.random() < 0.08:
        choice.renews = False
        choice.limits += ["--no-renew"]
