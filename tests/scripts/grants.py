# SPDX-License-Identifier: MIT
"""Was the answer to an acquire right? A grant fits beside all others, keeps to the line and has a
newer token; a refusal has a reason, and tells the place in line."""
from state import NAMES, Complaint, can_join, field_of, fit, mode_in, owner_of

TURN_LIFE = 1000  # ms


def check_grant(world, request, step, hold, heard):
    """Each name of a grant is new, the same again, or joined."""
    state = step.before[hold.name]
    was = state.records.get(hold.id)
    if was is None or was["token"] != hold.token:
        if hold.owner == request.owner:
            check_taken(world, request, step, hold)
        else:
            check_joined(request, state, hold)
        return
    old = world.holds.get((request.claim, hold.name))
    if heard and old and hold.slot != old.slot:
        raise Complaint("slot-moved", f"{hold}")
    kept = f"{hold.owner}#kept" in state.records
    if kept and state.left(hold.owner) > world.margin:
        raise Complaint("kept-joined", f"{hold}")


def check_joined(request, state, hold):
    upper = [state.records.get(f"{owner}#{serial}")
             for owner, serial in request.above_in(hold.name) if owner == hold.owner]
    if not any(record and can_join(mode_in(record), request.mode) for record in upper):
        raise Complaint("joined", f"{hold} below {upper}")
    tokens = [r["token"] for i, r in state.records.items() if owner_of(i) == hold.owner]
    if hold.token not in tokens:
        raise Complaint("token", f"{hold} joined with a token of nobody")


def check_taken(world, request, step, hold):
    """A hold of its own: does it fit, was it its turn, and is its token newer?"""
    state = step.before[hold.name]
    if hold.token <= world.tokens[hold.name]:
        raise Complaint("token", f"{hold}: {hold.token} after {world.tokens[hold.name]}")
    world.tokens[hold.name] = hold.token
    for other in world.alive(step.sent):
        if other.name == hold.name and not fit(hold, other):
            raise Complaint("overlap", f"{hold} granted beside {other}")
    for owner, mode in world.java_alive(hold.name, step.sent):
        if not hold.mode == mode == "shared":
            raise Complaint("overlap", f"{hold} granted beside Java's {owner} {mode}")
    for i, record in state.records.items():
        owner, _, serial = i.rpartition("#")
        lives = state.left(field_of(owner, mode_in(record))) > world.margin
        if lives and (serial == hold.serial or owner == hold.owner):
            raise Complaint("second-place", f"{hold} granted beside {i}")
    for who, until in state.line:
        if who == request.me:
            break
        if until > state.now + world.margin and '"polls":true' in who:
            raise Complaint("passed", f"{hold} was granted before {who}")


def check_after(world, request, step):
    said = step.answer[0]
    for name in request.names:
        after, was = step.after[name], step.before[name].records
        if said in ("granted", "done") and request.me in after.waiting():
            raise Complaint("line", f"{request.me} stands in {name} still, after {said}")
        new = [i for i in after.records if i.endswith("#" + request.serial) and i not in was]
        if said != "granted" and new:
            raise Complaint("half-taken", f"{new} of {name} at {said}")
    check_lines(world, request, step)
    if said == "busy":
        check_busy(world, request, step)


def check_lines(world, request, step):
    """Nobody but who asks gets more time in line, and all stand in one order."""
    for name in request.names:
        was = dict(step.before[name].line)
        for who, until in step.after[name].line:
            if who != request.me and until > was.get(who, 0) + world.margin:
                raise Complaint("line", f"{who} got more time by {request.id}")
    lines = [step.after[name].waiting() for name in NAMES]
    one, other = ([who for who in lines[i] if who in lines[1 - i]] for i in (0, 1))
    if one != other:
        raise Complaint("line-order", f"{one} and {other}")


def check_busy(world, request, step):
    """Was there anything in the way, and is our place told?"""
    place, which, turn, own = step.answer[2:]
    border = any(abs(until - step.before[name].now) <= world.margin
                 for name in request.names for _, until in step.before[name].line)
    if turn > TURN_LIFE and not border:
        raise Complaint("turn-long", f"{turn} ms")
    if own:
        if not request.above:
            raise Complaint("own", f"{request.id}")
        return
    check_not_own(world, request, step)
    first = request.names[which]
    reasons = []
    for name in request.names:
        state = step.before[name]
        if request.above_in(name) or state.left_of(request.owner) >= 0:
            return
        reasons += in_the_way(world, request, state)
        if place and request.me not in step.after[name].waiting():
            raise Complaint("line", f"{request.me} does not stand in {name}")
        if any(abs(until - state.now) <= world.margin for _, until in state.line):
            return
    if not reasons:
        raise Complaint("refused-free", f"{request.id} {request.mode} of {request.names}: "
                        f"{step.answer[2:]}")
    line = step.after[first].waiting()
    if place and (request.me not in line or line.index(request.me) + 1 != place):
        raise Complaint("place", f"{request.me}: {place} of {line}")


def check_not_own(world, request, step):
    """Nobody waits for a run above it."""
    for name in request.names:
        state, upper = step.before[name], []
        for owner, serial in request.above_in(name):
            record = state.records.get(f"{owner}#{serial}")
            if not record or f"{owner}#kept" in state.records or owner in state.revoked:
                continue
            mode = mode_in(record)
            if state.left(field_of(owner, mode)) > world.margin:
                upper.append(can_join(mode, request.mode)
                             and (mode != "slots" or request.slots == state.slots))
        if upper and not any(upper):
            raise Complaint("not-own", f"{request.id} {request.mode} waits for its own in {name}")


def in_the_way(world, request, state):
    """Who holds the name, if there is no room beside them; and who is first in line."""
    reasons, living, mode = [], state.living(), request.mode
    room = mode == state.mode == "shared" or (
        mode == state.mode == "slots" and request.slots == state.slots
        and len(living) < request.slots)
    if living and not room:
        reasons.append(living)
    first = next((who for who, until in state.line if until >= state.now and '"polls":true' in who),
                 None)
    if first and first != request.me:
        reasons.append(first)
    return reasons
