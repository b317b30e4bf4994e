# SPDX-License-Identifier: MIT
"""What a run has to say: the figures, the violations, and for the first of these everything that
was recorded around it, merged by time."""
from collections import Counter
from dataclasses import dataclass, field

from checks import RULES, ghosts, longest_wait, worst_kill
from history import MS, SECOND
from order import of_the_living

AROUND = 1.5 * SECOND


@dataclass
class Figures:
    """Of one run, or of several together."""
    rounds: int = 1
    runs: int = 0
    sections: int = 0
    notes: int = 0
    changes: int = 0
    lost: int = 0
    refused: int = 0
    ghosts: int = 0
    late: int = 0
    slow: int = 0
    worst_late: float = 0.0
    free: float = 0.0
    living: int = 0
    free_living: float = 0.0
    worst: float | None = None
    kinds: Counter = field(default_factory=Counter)
    status: Counter = field(default_factory=Counter)
    stands: Counter = field(default_factory=Counter)
    ways: Counter = field(default_factory=Counter)

    def __add__(self, other):
        out = Figures()
        for name, mine in vars(self).items():
            theirs = getattr(other, name)
            if name in ("worst_late", "free", "free_living"):
                value = max(mine, theirs)
            elif name == "worst":
                value = max((v for v in (mine, theirs) if v is not None), default=None)
            else:
                value = mine + theirs
            setattr(out, name, value)
        return out


def figures(history):
    runs = history.runs
    living, free_living = of_the_living(history)
    return Figures(
        runs=len(runs), sections=sum(bool(r.notes) for r in runs),
        notes=sum(len(r.notes) for r in runs), changes=len(history.store),
        lost=sum(bool(r.said("lost", "lapsing", "revoked")) for r in runs),
        refused=sum(not ok for writes in history.writes.values() for *_, ok in writes),
        ghosts=ghosts(history), late=len(history.late), slow=len(history.slow),
        free=longest_wait(history),
        living=living, free_living=free_living, stands=Counter(s.how for s in history.stands),
        worst_late=max(((b - a) / MS - 5 for a, b in history.late), default=0),
        worst=worst_kill(history), kinds=Counter(f.kind for f in history.faults),
        status=Counter(r.status for r in runs if r.end),
        ways=Counter(way for r in runs if r.notes for way in ways_of(r)))


def ways_of(run):
    yield run.mode()
    limits = {"several names": len(run.names) > 1, "nested": run.nested, "--max-hold": run.max_hold,
              "--min-hold": run.min_hold, "--no-renew": not run.renews}
    yield from (word for word, has in limits.items() if has)


def summary(of, title):
    print(f"  {title}: {of.runs} runs, {of.sections} sections, {of.notes} notes, {of.changes} "
          "changes in the store")
    print("  sections: " + ", ".join(f"{way} {n}" for way, n in of.ways.most_common()))
    print(f"  {of.kinds.total()} faults: " +
          ", ".join(f"{kind} {count}" for kind, count in of.kinds.most_common()))
    print("  exit status: " + ", ".join(f"{k}: {n}" for k, n in sorted(of.status.items())))
    print(f"  leases lost: {of.lost}; writes refused by the resource: {of.refused}; grants to "
          f"nobody, by late copies of an acquire: {of.ghosts}")
    print(f"  {of.stands.total()} stood in line: " +
          ", ".join(f"{how or 'there still'} {n}" for how, n in of.stands.most_common()))
    if of.worst is not None:
        print(f"  last act of a stopped section: {abs(of.worst):.1f} ms "
              f"{'before' if of.worst <= 0 else 'AFTER'} its safe_until at worst")
    print(f"  the machine came late {of.late} times, by {of.worst_late:.0f} ms at worst, the "
          f"disk {of.slow} times")
    print(f"  longest time free with somebody waiting: {of.free:.2f} s; with one in line who lived "
          f"and was connected, {of.living} times: {of.free_living:.3f} s", flush=True)


def timeline(history, at, lock):
    """Lines of what happened to the lock around a time."""
    rows = []

    def add(time, source, text):
        if abs(time - at) <= AROUND:
            rows.append((time, source, text))
    for run in history.runs:
        if lock and lock not in run.names and lock != run.lock:
            continue
        add(run.start, run.id, f"dlock starts, pid {run.pid}")
        add(run.end, run.id, f"dlock ended with {run.status}")
        for time, number in run.sent:
            add(time, run.id, f"<- signal {number}")
        for event in run.events:
            left = event.get("safe_until_ns")
            left = f" (safe for {(left - event['boot_ns']) / MS:.0f} ms)" if left else ""
            add(event["boot_ns"], run.id,
                f"{event.get('event', '')}{left}: {event.get('text', '')}")
        ticks = [n for n in run.notes if n[2][0] == "tick"]
        for time, pid, words in run.notes:
            if words[0] not in ("tick", "fence"):
                add(time, run.id, f"section {pid}: {' '.join(words)}")
        if ticks:
            add(ticks[-1][0], run.id, f"section {ticks[-1][1]}: its last tick")
    for time, name, text in history.store:
        if name == lock or not lock:
            add(time, "store", text)
    for fault in history.faults:
        add(fault.start, "nemesis", f"{fault.kind} at {fault.target} begins")
        add(fault.end, "nemesis", f"{fault.kind} at {fault.target} ends")
    return [f"    {(time - at) / MS:+9.1f} ms  {source:<8} {text}" for time, source, text in
            sorted(rows)]


def violations(history, found, most=2):
    for rule, list_ in found.items():
        if not list_:
            continue
        print(f"  {rule} VIOLATED {len(list_)} times: {RULES[rule][0]}")
        for violation in list_[:5]:
            print(f"    {violation}")
        for violation in list_[:most if most > 0 else 0]:
            most -= 1
            print(f"  around the first of {rule}, {violation}")
            for line in timeline(history, violation.at, violation.lock):
                print(line)
