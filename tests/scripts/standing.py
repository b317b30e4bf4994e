# SPDX-License-Identifier: MIT
"""Is what stands in the server what everybody was promised? Looked at after each step: nobody's
lease is cut, nobody stands beside who does not fit, nothing lasts for longer than it may, and what
is counted is recorded."""
from state import Complaint, field_of, fit, owner_of


def see(world, step):
    """Takes up what the step has left."""
    world.states = step.after
    if step.endless:
        raise Complaint("endless", f"{step.endless}")
    for name, state in step.after.items():
        ours = [hold for hold in world.alive(state.now) if hold.name == name]
        for hold in ours:
            check_lease(world, state, hold)
        check_beside(world, name, state, ours)
        check_fields(world, name, state)
        if len(state.line) != state.waiters:
            raise Complaint("line", f"{name}: {len(state.line)} in line, {state.waiters} live")
    world.kept = [hold for hold in world.kept if hold.end > step.now]


def check_lease(world, state, hold):
    """What was promised is there for as long."""
    least = hold.end - state.now - world.margin
    if state.mode == "write" and hold.mode == "shared" and hold.owner + ":write" in state.fields:
        has = state.ttl  # it reads in its own write hold
    else:
        has = state.left(field_of(hold.owner, hold.mode))
    if has < least or state.ttl < least:
        raise Complaint("cut", f"{hold} has {has} ms, the key {state.ttl}, and not {least:.0f}: "
                        f"{state.fields}")
    if hold.id not in state.records:
        raise Complaint("no-record", f"{hold}: {list(state.records)}")
    if state.holds_ttl < least:
        raise Complaint("cut-records", f"{hold} has {state.holds_ttl} ms, and not {least:.0f}")


def check_beside(world, name, state, ours):
    for i, one in enumerate(ours):
        for other in ours[:i]:
            if one.owner != other.owner and not fit(one, other):
                raise Complaint("overlap", f"{one} and {other}")
    if ours and ours[0].mode == "slots" and len({hold.owner for hold in ours}) > ours[0].slots:
        raise Complaint("too-many", f"{ours}")
    for owner, mode in world.java_alive(name, state.now):
        if ours and not (mode == "shared" and all(hold.mode == "shared" for hold in ours)):
            raise Complaint("overlap", f"Java's {owner} {mode} beside {ours}")
        reads_in_write = mode == "shared" and state.mode == "write"
        if state.left(field_of(owner, mode)) < 0 and not reads_in_write:
            raise Complaint("java-cut", f"{owner} {mode}: {state.fields} {state.ttl}")


def check_fields(world, name, state):
    """Who holds the name by the word of the server: for how long, how often, in which slots."""
    living = state.living(1)
    late = state.now - world.bound[name]
    if living and late > world.margin:
        raise Complaint("stuck", f"{name} is held {late:.0f} ms too long: {state.fields}")
    for i, record in state.records.items() if living and name not in world.foreign else ():
        if field_of(owner_of(i), record.get("mode")) not in state.fields:
            raise Complaint("of-nobody", f"{i} of {name}: {state.fields}")
    slots = {}
    for field in living:
        if not field.startswith("java"):
            records = check_records(world, name, state, field)
            for record in records.values() if state.mode == "slots" else ():
                slots.setdefault(record.get("slot"), set()).add(field)
    if state.mode != "slots":
        return
    if len(living) > state.slots:
        raise Complaint("too-many", f"{state.fields}")
    for slot, owners in slots.items():
        if len(owners) > 1:
            raise Complaint("slot-twice", f"{slot}: {owners}")
        if slot is None or slot >= state.slots:
            raise Complaint("slot-range", f"{slot} of {state.slots}: {owners}")


def check_records(world, name, state, field):
    """The records of an owner, which are as many as are counted; but for one who is dead as a
    reader in its own write hold."""
    records = state.records_in(field)
    dead = state.mode == "write" and state.lease.get(field, 0) <= 0
    if len(records) != int(state.fields[field]) and not dead:
        raise Complaint("count", f"{field} counts {state.fields[field]}, recorded: {list(records)}; "
                        f"{state.left(field)} ms left, of the records {state.holds_ttl} ms")
    if state.mode == "slots" and len({record.get("slot") for record in records.values()}) > 1:
        raise Complaint("slots-of-one", f"{records}")
    until = world.kept_until.get((name, field), 0)
    if f"{field}#kept" in records and state.left(field) > until - state.now + world.margin:
        raise Complaint("kept-long", f"{field} of {name}: {state.left(field)} ms")
    return records


def check_told(world, name, state, holding, line):
    """What inspect tells of a state: who holds the name, and how many wait."""
    if any(0 <= state.left(field) <= world.margin for field in state.fields):
        return
    # The leases of those who read in a write hold have no say.
    fields = list(state.fields) if state.mode == "write" and state.ttl >= 0 else state.living()
    owners = {field.removesuffix(":write") for field in fields}
    told = set(holding[4][::3])
    if told != owners or holding[3] != len(owners) or (holding[0] == "none") != (not owners):
        raise Complaint("inspect", f"{name}: {holding[:5]}, but {state.fields}")
    live = [who for who, until in state.line if until >= state.now - world.margin]
    if len(line) // 2 > len(live) or holding[7] > len(live):
        raise Complaint("inspect", f"{name}: {line}, but {live}")


def check_revoked(world, name, step, everybody, at_once):
    """After a revocation of everybody nothing is kept, and at once nothing is held."""
    before, after = step.before[name], step.after[name]
    for i, record in after.records.items():
        left = before.left(field_of(owner_of(i), record.get("mode")))
        if everybody and i.endswith("#kept") and left > world.margin:
            raise Complaint("kept-revoked", f"{i} of {name}")
    if everybody and at_once and step.answer[0] == "deleted" and after.fields:
        raise Complaint("deleted-held", f"{name}: {after.fields}")
