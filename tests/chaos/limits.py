# SPDX-License-Identifier: MIT
"""What a run was told about the length of its hold, --max-hold, --min-hold, --no-renew, and what
became of it: I21 on a history."""
from history import MS, SECOND, Violation

# A clock that is read, a message to a group, and who looks at it: on a busy machine.
SOON = 500 * MS
# Where dlock itself is kept from acting, its guard ends the section, but by the lease.
STILL = {"dlock-stop", "dlock-starve", "waiter-stop", "both-stop"}


def i21_limits(history):
    if history.kind != "G":
        return
    kept = {(h.lock, h.owner.removesuffix("#kept")): h for h in history.held
            if h.owner.endswith("#kept")}
    for run in history.runs:
        granted = run.said("granted")
        if run.max_hold and run.notes and granted:
            yield from longer(history, run, granted[0]["boot_ns"])
        if not run.renews and not run.nested and run.said("renewed"):
            yield Violation("I21", run.said("renewed")[0]["boot_ns"],
                            f"{run.id} renewed its lease", run.lock)
        if run.min_hold and run.notes and granted:
            yield from shorter(history, run, kept)


def longer(history, run, granted):
    end = granted + run.max_hold + history.terms.kill_after + SOON
    if run.last() > end and not still(history, run) and \
       not history.hindered(granted + run.max_hold, run.last()):
        yield Violation("I21", end, f"{run.id} was to end after {run.max_hold / SECOND:g} s, and "
                        f"ran {(run.last() - end) / MS:.1f} ms longer", run.lock)


def still(history, run):
    """Was its dlock killed, or frozen, so that it could not look at its clock?"""
    return run.sent_kill() or any(
        fault.kind in STILL and fault.target == str(run.client) and
        fault.start < run.last() and (fault.end or run.last()) > run.start
        for fault in history.faults)


def shorter(history, run, kept):
    """A command that came to its end: what was given back early stays taken."""
    early = 2 * history.terms.call_limit  # dlock may count from when it asked
    for held in history.held:
        if held.lock not in run.names or held.owner != run.owner(held.lock) or not held.released:
            continue
        rest = held.start + run.min_hold - held.released
        after = kept.get((held.lock, held.owner))
        stopped = run.said("lost", "revoked", "lapsing")
        if rest > early and not stopped and run.has("end") and after is None:
            yield Violation("I21", held.released, f"{run.id} gave {held.lock} back "
                            f"{rest / MS:.1f} ms too early", held.lock)
        if after is None or after.how != "expired":  # or force-release has made it free
            continue
        over = after.end - held.start - run.min_hold
        if over < -early or after.end - after.start > run.min_hold:
            yield Violation("I21", after.end, f"{run.id} had {held.lock} kept {abs(over) / MS:.1f} "
                            f"ms too {'short' if over < 0 else 'long'}", held.lock)
