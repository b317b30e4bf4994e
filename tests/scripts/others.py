# SPDX-License-Identifier: MIT
"""What happens beside the claims: time passes, somebody looks or revokes, Redisson takes part."""
import claims
import java
from standing import check_revoked, check_told, see
from state import NAMES, Complaint, is_beside, keys_of, owner_of, tag_of

LINE_LIFE = 10000  # ms


def let_pass(world, ms):
    see(world, world.step(later=ms))


def inspect(world, name):
    keys = keys_of([name], "lock", "holds", "revoked", "line", "waiters", "done")
    step = world.step("inspect", keys, [tag_of(name)])
    see(world, step)
    check_told(world, name, step.before[name], *step.answer[:2])


def revoke(world, name, at_once, if_owner, of_record):
    """Of everybody, of an owner, or of the token that a record has or had."""
    state = world.states[name]
    if of_record in state.records:
        world.named[name, of_record] = str(state.records[of_record]["token"])
    if_token = world.named.get((name, of_record), "1") if of_record else ""
    step = world.step("revoke", keys_of([name], "lock", "holds", "revoked", "line", "waiters"),
                      ["ann", "1" if at_once else "0", if_owner, if_token, tag_of(name)])
    said = step.answer[0]

    def meant(hold):
        tokens = [str(r["token"]) for i, r in state.records.items() if owner_of(i) == hold.owner]
        return (hold.name == name and if_owner in ("", hold.owner)
                and (not if_token or if_token in tokens))
    for key, hold in list(world.holds.items()):
        if meant(hold) and said == "deleted" and (at_once or not is_beside(state.mode)):
            del world.holds[key]
            world.gone.add(key[0])
        elif meant(hold) and said == "revoked":
            hold.revoked = True
    if said in ("deleted", "revoked"):
        world.kept = [hold for hold in world.kept if not meant(hold)]
    if at_once and said == "deleted":
        for key in [key for key in world.java if key[1] == name and if_owner in ("", key[0])
                    and (not if_token or not is_beside(state.mode))]:
            del world.java[key]
    see(world, step)
    if said != "nothing":
        check_revoked(world, name, step, not if_owner and not if_token, at_once)


def redisson(world, what, owner, name, lease):
    step = world.step("java-" + what, keys_of([name], "lock"), [lease, owner, tag_of(name)])
    taken, sent = step.answer == "yes", step.sent
    if what in java.TAKES:
        ends = world.java.setdefault((owner, name, java.TAKES[what]), [])
        ends[:] = [end for end in ends if end > sent]
        if taken:
            world.foreign.add(name)
            # A writer that enters again adds its lease.
            since = max(world.bound[name], step.now) if what == "write" else step.now
            world.free_by([name], since + lease)
            ends[:] = [sent + lease] * (len(ends) + 1) if what == "lock" else [*ends, sent + lease]
        beside = [hold for hold in world.alive(sent) if hold.name == name]
        if taken and beside and (what != "read" or any(h.mode != "shared" for h in beside)):
            raise Complaint("java-overlap", f"{owner} {what} beside {beside}")
    else:
        # Which of its holds it was is not known: it counts on none any more. Nor on what it has in
        # the other way: the end of an inner hold sets the expiry of the key, be it shorter.
        for mode in java.TAKES.values():
            world.java.pop((owner, name, mode), None)
        if taken:
            world.free_by([name], step.now + lease)
    see(world, step)


def end(world, modes):
    """When all leases and waiters are gone, each name is to be had in every way."""
    for claim, _ in list(world.holds):
        claims.kill(world, claim)
    world.java.clear()
    last = max(*world.bound.values(), 0) - world.states[NAMES[0]].now if world.bound else 0
    let_pass(world, max(int(last), 0) + 10 * LINE_LIFE)
    for i, mode in enumerate(modes):
        owner = f"end{i}:1"
        claims.acquire(world, owner, [NAMES, owner, "s", 1000, "", mode,
                                      2 if mode == "slots" else 0, 0, [], []], True)
        if any((owner, name) not in world.holds for name in NAMES):
            raise Complaint("not-free", f"{mode}: {[s.fields for s in world.states.values()]}")
        claims.release(world, owner, ["s", 0, [[name, owner, 0] for name in NAMES]], True)
