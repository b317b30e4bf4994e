# SPDX-License-Identifier: MIT
"""What a claim does: it asks, renews, gives back, leaves the line, dies. Each operation sends the
script as dlock would, books what it was promised, and has it judged. A request whose answer is not
heard changes nothing for the claim; late copies are such requests."""
import json

import grants
from standing import see
from state import Complaint, Hold, is_beside, keys_of, mode_in, tag_of

RECORD = '"host":"h","pid":1}'


def in_line(owner, serial, stand, mode, slots):
    """Who a claim is in the line; '': it does not stand there."""
    if not stand:
        return ""
    return '{"id":"%s#%s",%s%s%s%s' % (
        owner, serial, '"polls":true,' if stand == "polls" else "",
        '"mode":"%s",' % mode if mode != "exclusive" else "",
        '"slots":%d,' % slots if mode == "slots" else "", RECORD)


def is_of_acquire(serial):
    return len(serial) == 17


class Request:
    """An acquire: of which names, who asks, for how long, '' or "polls" or "hears" in line, how,
    not wanted after a success `once` ms ago, [name, owner, serial] of the holds above it, and the
    ids of those that it relies on."""

    def __init__(self, claim, words):
        self.claim = claim
        (self.names, self.owner, self.serial, self.ttl, stand, self.mode, self.slots, self.once,
         self.above, self.relies_on) = words
        self.me = in_line(self.owner, self.serial, stand, self.mode, self.slots)
        self.id = f"{self.owner}#{self.serial}"

    def above_in(self, name):
        return [(owner, serial) for of, owner, serial in self.above if of == name]

    def args(self):
        args = [self.owner, self.serial, self.ttl, RECORD, self.me, self.asked()]
        for name in self.names:
            above = self.above_in(name)
            args += [tag_of(name), len(above)] + [word for hold in above for word in hold]
        return args + self.relies_on

    def asked(self):
        words = [f"mode={self.mode}"] if self.mode != "exclusive" else []
        words += [f"slots={self.slots}"] if self.mode == "slots" else []
        words += [f"once={self.once}"] if self.once else []
        return " ".join(words)

    def granted(self, step):
        """The holds that the answer tells."""
        if step.answer[0] != "granted":
            return []
        told = zip(self.names, step.answer[1::2], map(json.loads, step.answer[2::2]))
        return [Hold(name, owner, self.serial, mode_in(record), record.get("slot"), self.slots,
                     record["token"], step.sent + self.ttl) for name, owner, record in told]


def acquire(world, claim, words, heard):
    request = Request(claim, words)
    keys = keys_of(request.names, "lock", "token", "holds", "revoked", "line", "waiters", "done")
    step = world.step("acquire", keys, request.args())
    if isinstance(step.answer, str):  # the record alone
        step.answer = ["granted", request.owner, step.answer]
    new = request.granted(step)
    for hold in new:
        grants.check_grant(world, request, step, hold, heard)
    world.free_by(request.names, step.now + request.ttl)
    if heard and claim not in world.gone:
        for hold in new:
            book(world, claim, step, hold)
        if not new:
            check_held(world, request, step)
    see(world, step)
    grants.check_after(world, request, step)


def book(world, claim, step, hold):
    old = world.holds.get((claim, hold.name))
    if old and old.revoked and old.end > step.sent + world.margin:
        raise Complaint("revoked-granted", f"{hold}")
    world.holds[claim, hold.name] = hold


def check_held(world, request, step):
    """Who holds all that it asks for, and is not to give it up, is not refused."""
    held = [world.holds.get((request.claim, name)) for name in request.names]
    if all(h and h.end > step.sent + world.margin and not h.revoked for h in held):
        raise Complaint("held-refused", f"{request.id} was answered {step.answer[0]}")


def renew(world, claim, words, heard):
    """`words`: serial, ttl or 0 to look only, then that of the lease, [name, owner, mode] each."""
    serial, ttl, whole, holds = words
    args = [serial, ttl, whole]
    for name, owner, mode in holds:
        args += [owner, mode, tag_of(name)]
    names = [hold[0] for hold in holds]
    step = world.step("renew", keys_of(names, "lock", "holds", "revoked"), args)
    said = step.answer[0]
    world.free_by(names, step.now + max(ttl, whole))
    for name, owner, _ in holds:
        state = step.before[name]
        if said in ("renewed", "held") and f"{owner}#kept" in state.records:
            raise Complaint("kept-renewed", f"{owner}#{serial} of {name}")
        if said != "lost" and state.left_of(owner) < 0:
            raise Complaint("renewed-dead", f"{owner}#{serial} of {name}: {said}")
    if heard:
        hear_of_renewal(world, claim, step, holds, ttl)
    see(world, step)


def hear_of_renewal(world, claim, step, holds, ttl):
    said, sent = step.answer[0], step.sent
    ours = [world.holds[claim, hold[0]] for hold in holds if (claim, hold[0]) in world.holds]
    ours = [hold for hold in ours if [hold.name, hold.owner, hold.mode] in holds]
    sure = len(ours) == len(holds) and all(hold.end > sent + world.margin for hold in ours)
    if said == "renewed":
        for hold in ours:
            if hold.revoked and hold.end > sent + world.margin:
                raise Complaint("revoked-renewed", f"{hold}")
            # A renewal that may have come after the end of the lease revives nobody.
            hold.end = sent + ttl if hold.end > sent + world.margin else 0
    elif said == "lost":
        if sure:
            raise Complaint("told-lost", f"{ours}: {step.answer}")
        for hold in ours:
            hold.end = 0
    elif said == "revoked" and sure and not any(hold.revoked for hold in ours):
        raise Complaint("told-revoked", f"{ours}: {step.answer}")
    elif said == "held" and sure and any(hold.revoked for hold in ours):
        raise Complaint("revoked-held", f"{ours}")


def release(world, claim, words, first):
    """`words`: serial, tell, [name, owner, keep] each. `first`: no copy of one that was sent."""
    serial, tell, holds = words
    args = [serial, tell, '"outcome":"child","keep_ms":60000}', 60000]
    for name, owner, keep in holds:
        args += [owner, tag_of(name), keep]
    names = [hold[0] for hold in holds]
    keys = keys_of(names, "lock", "holds", "revoked", "line", "waiters", "done")
    step = world.step("release", keys, args)
    own = {}
    if first:
        world.gone.add(claim)
        for name, owner, _ in holds:
            hold = world.holds.pop((claim, name), None)
            own[name] = hold if hold and hold.owner == owner else None
    words = step.answer.split()
    for (name, owner, keep), said in zip(holds, words, strict=True):
        check_release(world, step, own.get(name), said, (name, owner, serial, keep))
    see(world, step)
    for (name, owner, _), said in zip(holds, words):
        check_released(world, step, name, owner, serial, said)


def check_release(world, step, own, said, words):
    name, owner, serial, keep = words
    state, sure = step.before[name], own and own.end > step.sent + world.margin
    if keep and said == "released":
        world.kept_until[name, owner] = step.now + keep
        world.free_by([name], step.now + keep)
    if sure and said == "not_held":
        raise Complaint("release-not-held", f"{own}")
    if own and is_beside(state.mode) and state.left(owner) < 0 and said != "not_held":
        raise Complaint("released-dead", f"{own}: {said}")
    below = [h for (_, of), h in world.holds.items() if of == name and h.owner == owner
             and h.end > step.sent - world.margin]
    if sure and keep and not below and is_last(state, owner, serial):
        if said != "released":
            raise Complaint("not-kept", f"{own}, though nobody lives below it: {said}")
        world.kept.append(Hold(name, owner, "kept", own.mode, own.slot, own.slots, own.token,
                               step.sent + keep))


def is_last(state, owner, serial):
    """Has the owner no other hold, be it of the living or of the dead?"""
    if state.mode == "write" and state.lease.get(owner, -2) > -2:
        return False
    return all(i == f"{owner}#{serial}" or state.mode == "write" and mode_in(record) == "shared"
               for i, record in state.records.items() if i.startswith(owner + "#"))


def check_released(world, step, name, owner, serial, said):
    state = step.after[name]
    alive, kept = state.left_of(owner) > 0, f"{owner}#kept" in state.records
    noted = [f"{owner}#{serial}"] if is_of_acquire(serial) and said != "not_held" else []
    if set(state.noted) != {*step.before[name].noted, *noted}:
        raise Complaint("noted", f"{owner}#{serial} of {name}, {said}: {state.noted}")
    if f"{owner}#{serial}" in state.records:
        raise Complaint("release-left", f"{owner}#{serial} of {name}")
    if said == "released" and alive and not kept:
        raise Complaint("released-held", f"{owner}#{serial} of {name}: {state.fields}")
    if said == "still_held" and not alive and step.before[name].left(owner) > world.margin:
        raise Complaint("still-held-free", f"{owner}#{serial} of {name}")


def leave(world, claim, words):
    """Asks no more, and leaves the line. `words`: names, who it is in line."""
    names, me = words
    world.gone.add(claim)
    step = world.step("leave", keys_of(names, "lock", "line", "waiters"),
                      [me, *map(tag_of, names)])
    see(world, step)
    for name in names:
        if me in step.after[name].waiting():
            raise Complaint("leave", f"{me} stands in {name}")


def kill(world, claim):
    world.gone.add(claim)
    for key in [key for key in world.holds if key[0] == claim]:
        del world.holds[key]
