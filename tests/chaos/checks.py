# SPDX-License-Identifier: MIT
"""The invariants, each a function from a history to violations, each linear in what it looks at.
`RULES` says in words what they hold dlock to."""
from exclusion import SAME, i2_tokens, i3_fence, i17_readers, i18_slots, i19_names, together
from history import MS, SECOND, Violation
from limits import i21_limits
from order import i15_order, i16_starvation, i20_writers

SOON = 500 * MS        # a group that is ended by its guard is gone after that


def i1_exclusion(history):
    if history.kind != "G":
        return
    yield from together(history, "I1")
    for resource, writes in history.writes.items():
        for token, run, accepted in writes:
            if not accepted:
                at = next((r.last() for r in history.runs if r.id == run), 0)
                yield Violation("I1", at, f"the resource refused {run} with token {token}",
                                resource)
    for run, held in with_hold(history):
        if run.first() < held.start - SAME:
            yield Violation("I1", run.first(), f"{run.id} ran before its grant", held.lock)
        if held.end and run.last() > held.end + SAME and not excused(history, run, held.end):
            yield Violation("I1", held.end, f"{run.id} ran {(run.last() - held.end) / MS:.1f} ms "
                            f"longer than the store kept its lock ({held.how})", held.lock)


def with_hold(history):
    """Runs that began, with their time in the store, for each name. An owner may have been there
    before (a grant whose answer was lost, and that expired) and after (see ghosts)."""
    times = {}
    for held in history.held:
        times.setdefault((held.lock, held.owner), []).append(held)
    for run in history.runs:
        for name in run.names if run.notes else ():
            mine = times.get((name, run.owner(name)), [])
            before = [held for held in mine if held.start <= run.first() + SAME]
            if mine:
                yield run, (before or mine)[-1 if before else 0]


def ghosts(history):
    """Grants to an owner that had given back before: a late copy of its acquire. Nobody is in
    there, and the lock is free again after a lease: it costs time, not exclusion."""
    gone, count = set(), 0
    for held in history.held:
        count += (held.lock, held.owner) in gone
        if held.how == "released":
            gone.add((held.lock, held.owner))
    return count


def excused(history, run, since):
    """Only a machine that gave nobody a processor excuses a child that ran on (A3)."""
    return history.starved(since - history.terms.kill_time, run.last())


def i4_deadline(history):
    for run in history.runs:
        said = run.announced()
        step, best = 0, 0
        for at, pid, _ in run.notes if said else ():
            while step < len(said) and said[step][0] <= at:
                best = max(best, said[step][1])
                step += 1
            if best and at > best:
                if not excused(history, run, best):
                    yield Violation("I4", at, f"{run.id} pid {pid} ran on after the safe_until of "
                                    f"its hold, for {(run.last() - best) / MS:.1f} ms", run.lock)
                break


    yield from beyond_the_lease(history)


def beyond_the_lease(history):
    """What dlock believes is never more than what the store has confirmed, less the margin."""
    for run, name in [(r, n) for r in history.runs for n in r.names] * (history.kind == "G"):
        leases = history.leases.get((name, run.owner(name)), [])
        step, end = 0, 0
        for said, until in run.announced() if leases else ():
            while step < len(leases) and leases[step][0] <= said:
                end = max(end, leases[step][1])
                step += 1
            over = until - (end - history.terms.drift)
            if end and over > SAME:
                yield Violation("I4", said, f"{run.id} believes in a safe_until {over / MS:.1f} ms "
                                "later than its lease in the store allows", name)


def i5_not_yours(history):
    if history.kind != "G":
        return
    by_owner = {}
    for run in history.runs:
        for event in run.said("lost", "lost_at_release") if not run.warn else ():
            until = run.safe_until(event["boot_ns"])
            if event["boot_ns"] < until:
                yield Violation("I5", event["boot_ns"], f"{run.id} was told that it lost the lock "
                                f"{(until - event['boot_ns']) / MS:.1f} ms early", run.lock)
        for event in run.said("granted"):
            by_owner[event.get("hold")] = run
    for at, lock, hold in history.told_lost:
        run = by_owner.get(hold)
        if run and at < run.safe_until(at):
            yield Violation("I5", at, f"the store told {run.id} that it lost the lock "
                            f"{(run.safe_until(at) - at) / MS:.1f} ms early", lock)


def i6_bound(history):
    if history.kind != "B":
        return
    for run, held in with_hold(history):
        until = held.end + history.terms.bound
        if not run.renews:  # nobody asks the store any more
            until = max(until, run.safe_until(run.last()))
        late = run.last() - until if held.end else 0
        if late > 0 and not history.hindered(until - history.terms.kill_time, run.last()):
            yield Violation("I6", run.last(), f"{run.id} ran {late / MS:.1f} ms longer than the "
                            f"bound after the lock was {held.how}", held.lock)


def i7_store(history):
    yield from (v for v in history.store_violations if v.rule in ("I7", "I2"))


def i8_orphans(history):
    for run in history.runs:
        if run.alive:
            yield Violation("I8", run.end, f"{run.id} left {run.alive} alive", run.lock)
        if not run.end or not run.notes or run.last() <= run.end:
            continue
        killed = run.sent_kill()
        if not killed:
            yield Violation("I8", run.last(), f"{run.id}: the section ran "
                            f"{(run.last() - run.end) / MS:.1f} ms longer than dlock", run.lock)
        elif run.last() > killed[0] + SOON and not excused(history, run, killed[0] + SOON):
            yield Violation("I8", run.last(), f"{run.id}: the section ran "
                            f"{(run.last() - killed[0]) / MS:.1f} ms after dlock was killed",
                            run.lock)


def i9_no_start(history):
    """A run that says it never started its command has not started it."""
    for run in history.runs:
        said = run.result.get("outcome")
        never = (said in ("busy", "failed", "signalled", "done", "unavailable") or
                 run.status in (64, 69, 75, 77, 78))
        if run.notes and never:
            yield Violation("I9", run.first(), f"{run.id} ended with {run.status} ({said}) and had "
                            "started its command", run.lock)


def i10_status(history):
    for run in history.runs:
        if not run.end:
            continue
        why = status_against_history(run)
        if why:
            yield Violation("I10", run.end, f"{run.id} ended with {run.status}, but {why}",
                            run.lock)


def status_against_history(run):
    stopped = run.said("lost", "revoked", "lapsing", "time_up")
    told = [number for _, number in run.sent]
    told += [9] if 15 in told else []  # the command did not heed it
    if run.status == 79 and run.events and not run.said("lost", "revoked", "lapsing"):
        return "nothing says that the lease was lost"
    if run.status == 124 and run.events and not run.said("time_up"):
        return "nothing says that its time was up"
    if run.said("time_up") and run.renews and not run.max_hold:
        return "its time had no end"
    if run.notes and run.asked and not run.nested and run.mode() != run.asked:
        return f"it was to be {run.asked}, and its section is {run.mode()}"
    if run.status in (0, 7) and (run.status != run.child_code or not run.has("end")):
        return f"the command would end with {run.child_code} and did " + (
            "" if run.has("end") else "not ") + "come to its end"
    if run.status in (0, 7) and stopped and not run.warn:
        return "it had stopped the command"
    if run.status < 0 and -run.status not in told and not run.said("leftovers"):
        return "nobody sent that signal"
    if run.status == 127 or run.status == 126 or run.status == 125:
        return "the command is there"
    return result_against_history(run, run.result)


def result_against_history(run, result):
    if result.get("outcome") == "child" and result.get("exit_code", run.status) != run.status:
        return f"its result file says {result['exit_code']}"
    lost = result.get("outcome") == "lost"
    late = result.get("outcome") == "time_up"
    if result and (lost, late) != (run.status == 79, run.status == 124) and not run.nested:
        return f"its result file says {result['outcome']}"
    # A nested run whose ancestor has lost the lock gets one of its own.
    if run.notes and not run.nested and (result.get("token") or run.token()) != run.token():
        return f"its result file has token {result['token']}, the command {run.token()}"
    tokens = [lock["token"] for lock in result.get("locks", ())]
    if run.notes and not run.nested and tokens and tokens != [run.token(n) for n in run.names]:
        return f"its result file has the tokens {tokens}"
    return ""


def i11_sums(history):
    for lock in sorted({run.lock for run in history.runs}):
        runs = [r for r in history.runs if r.lock == lock]
        counted = sum(r.has("counted") for r in runs)
        begun = sum(r.has("begin") for r in runs)
        seen = history.counts.get(lock, counted)
        errors = sum(r.has("count-error") for r in runs)
        if not counted <= seen <= begun + errors:
            yield Violation("I11", 0, f"the second server counted {seen} sections, the files "
                            f"{counted} to {begun}: the recording is wrong", lock)
    added = {}
    for run in history.runs if history.kind == "G" else ():
        for at, resource in enumerate(run.resources()):
            done, maybe = added.get(resource, (0, 0))
            ends = run.count("sum-end") > at
            added[resource] = done + ends, maybe + (run.count("sum-begin") > at and not ends)
    for resource, (done, maybe) in added.items():
        total = history.sums.get(resource, done)
        if not done <= total <= done + maybe:
            yield Violation("I11", 0, f"{done} to {done + maybe} sections added one, the sum is "
                            f"{total}: an addition was lost", resource.split(".")[0])


def i12_healing(history):
    for at, lock, text in history.healing:
        yield Violation("I12", at, text, lock)


def i13_one_release(history):
    yield from (v for v in history.store_violations if v.rule == "I13")
    for run, held in with_hold(history) if history.kind == "G" else ():
        if held.released and run.last() > held.released + SAME:
            yield Violation("I13", held.released, f"{run.id} was given back "
                            f"{(run.last() - held.released) / MS:.1f} ms before its end", held.lock)


def i14_one_start(history):
    for run in history.runs:
        if len(run.begins()) > 1:
            yield Violation("I14", run.begins()[1][0],
                            f"{run.id} started {len(run.begins())} times", run.lock)


RULES = {
    "I1": ("two sections never run at once, nor without the lock", i1_exclusion),
    "I2": ("tokens grow in the order of grants and of begins", i2_tokens),
    "I3": ("the resource accepts no smaller token than before", i3_fence),
    "I4": ("nothing of a section runs after its safe_until, nor is that too late", i4_deadline),
    "I5": ("nobody is told \"not yours\" before his safe_until", i5_not_yours),
    "I6": ("a section that lost its lock ends within the bound", i6_bound),
    "I7": ("every write in the store is the right of its writer", i7_store),
    "I8": ("nothing of a section outlives its dlock", i8_orphans),
    "I9": ("what was given up or refused is never started", i9_no_start),
    "I10": ("exit status, result and history agree", i10_status),
    "I11": ("no addition under the lock is lost", i11_sums),
    "I12": ("after healing every lock is free and to be had", i12_healing),
    "I13": ("one release for a hold, and only after its end", i13_one_release),
    "I14": ("one start for a wait", i14_one_start),
    "I15": ("waiters are served in the order in which they came", i15_order),
    "I16": ("who waits and lives does not wait for a free lock", i16_starvation),
    "I17": ("a reader never runs beside a writer", i17_readers),
    "I18": ("there are never more than there are slots, nor two in one", i18_slots),
    "I19": ("several names are had together or not at all", i19_names),
    "I20": ("no reader that came later goes before a writer who waits", i20_writers),
    "I21": ("a hold lasts neither longer nor shorter than was asked for", i21_limits),
}


def check(history):
    """rule: its violations, the first ones first."""
    found = {rule: [] for rule in RULES}
    for _, act in RULES.values():
        for violation in act(history):
            if not any(v.text == violation.text for v in found[violation.rule]):
                found[violation.rule].append(violation)
    for violations in found.values():
        violations.sort(key=lambda v: v.at)
    return found


def worst_kill(history):
    """Of the runs that were stopped: the last act of a section against its safe_until, in ms."""
    stopped = [r for r in history.runs if r.notes and r.announced() and
               (r.status == 79 or r.sent_kill() or r.said("lapsing", "kill"))]
    return max(((r.last() - max(u for _, u in r.announced())) / MS for r in stopped), default=None)


def longest_wait(history):
    """The longest time that a lock was free with somebody waiting for it all the time, in s."""
    longest = 0
    for lock in history.locks():
        held = sorted((h for h in history.held if h.lock == lock and h.end), key=lambda h: h.start)
        waits = [(r.start, r.first() or r.end) for r in history.runs if r.lock == lock and r.end]
        edge = 0
        for one, two in zip(held, held[1:]):
            edge = max(edge, one.end)
            for start, end in waits:
                longest = max(longest, min(end, two.start) - max(start, edge))
    return longest / SECOND
