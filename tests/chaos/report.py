# SPDX-License-Identifier: MIT
"""What a run has to say: the figures, the violations, and for the first of these everything that
was recorded around it, merged by time."""
from collections import Counter

from checks import RULES, ghosts, longest_wait, worst_kill
from history import MS, SECOND

AROUND = 1.5 * SECOND


def summary(history, plan):
    runs = history.runs
    begun = [r for r in runs if r.notes]
    status = Counter(r.status for r in runs if r.end)
    kinds = Counter(f.kind for f in history.faults)
    worst = worst_kill(history)
    refused = sum(not ok for writes in history.writes.values() for *_, ok in writes)
    print(f"  {plan.clients} clients, {len(plan.locks)} locks: {len(runs)} runs, {len(begun)} "
          f"sections, {sum(len(r.notes) for r in runs)} notes, {len(history.store)} changes in the "
          "store")
    print(f"  {len(history.faults)} faults: " +
          ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    print("  exit status: " + ", ".join(f"{k}: {n}" for k, n in sorted(status.items())) +
          f"; leases lost: {sum(bool(r.said('lost', 'lapsing', 'revoked')) for r in runs)}"
          f", writes refused by the resource: {refused}")
    if worst is not None:
        print(f"  last act of a stopped section: {abs(worst):.1f} ms "
              f"{'before' if worst <= 0 else 'AFTER'} its safe_until at worst")
    print(f"  grants to nobody, by late copies of an acquire: {ghosts(history)}")
    print(f"  longest time free with somebody waiting: {longest_wait(history):.2f} s; the machine "
          f"came late {len(history.late)} times, by {worst_late(history):.0f} ms at worst")


def worst_late(history):
    return max(((b - a) / MS - 5 for a, b in history.late), default=0)


def timeline(history, at, lock):
    """Lines of what happened to the lock around a time."""
    rows = []

    def add(time, source, text):
        if abs(time - at) <= AROUND:
            rows.append((time, source, text))
    for run in history.runs:
        if run.lock != lock and lock:
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
