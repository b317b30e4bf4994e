# SPDX-License-Identifier: MIT
"""What must be true of the crowds of modes.py. A rule gets (crowd, history, sections, bad, figures)
and adds to the last two.

Which sections overlap is judged by the order of the lines in the record (mode_section.cpp), without
any clock. Which run came first, and which entered first, is judged by the server's own numbers: the
arrival of a waiter and the fencing token of a grant are both microseconds of the server's clock.
"""
import collections


class Section:
    def __init__(self, who, at, mode, slot, names, tokens):
        self.who, self.first, self.last = who, at, at
        self.mode, self.slot = mode, slot
        self.alone = mode not in ("shared", "slots")
        self.names, self.tokens = names.split(","), [int(t) for t in tokens.split(",") if t != "-"]

    @property
    def group(self):
        return self.who.rstrip("0123456789.")


def sections(record):
    """Returns the sections, by the names of their runs; `first` and `last` are numbers of lines."""
    found = {}
    for at, line in enumerate(record.splitlines()):
        who, what, *more = line.split()
        if what == "begin":
            found[who] = Section(who, at, *more)
        else:
            found[who].last = at
    return found


def together(found):
    """Yields each section, in the order of their begins, with those that ran as it began and itself."""
    running = []
    for section in sorted(found, key=lambda s: s.first):
        running = [other for other in running if other.last > section.first] + [section]
        yield section, running


# --- the line -----------------------------------------------------------------------------------

def arrivals(history, index):
    """Returns, for each pid, the arrivals with which it was seen in the line of the name."""
    stood = collections.defaultdict(set)
    for look in history.looks:
        for pid, arrival in look[index].line:
            stood[pid].add(int(arrival))
    return stood


def granted(history, found, index, name):
    """Returns (token, arrival or None, run, how often it joined the line again because it was late
    for its turn) for every run that entered, in the order of the grants."""
    stood = arrivals(history, index)
    rows = []
    for run in history.runs:
        section = found.get(run.who)
        if section and name in section.names and section.tokens:
            token = section.tokens[section.names.index(name)]
            places = [at for at in stood[str(run.pid)] if run.began < at < token]
            rows.append((token, max(places, default=None), run, max(len(places) - 1, 0)))
    return sorted(rows, key=lambda row: row[0])


def passed(early, late):
    """Whether `early`, which entered first, came later than `late`. A run that was never seen in
    line counts as come when it was started."""
    return late[1] is not None and (early[1] or early[2].began) > late[1]


# --- the rules ----------------------------------------------------------------------------------

def growing_tokens(_crowd, _history, found, bad, _figures):
    """Each grant has a token of its own. A section that begins after another has ended has a larger
    token, if one of the two held the lock alone. If both may run together, the one that was granted
    first may begin last."""
    for name in {name for section in found.values() for name in section.names}:
        rows = [(s.first, s.last, s.tokens[s.names.index(name)], s) for s in found.values()
                if name in s.names and s.tokens]
        if len({row[2] for row in rows}) != len(rows):
            bad.append(f"a token of {name} was given twice")
        ended, at = sorted(rows, key=lambda row: row[1]), 0
        largest = {True: 0, False: 0}  # of sections that held the lock alone, and of the others
        for first, _, token, section in sorted(rows, key=lambda row: row[0]):
            while ended[at][1] < first:
                alone = ended[at][3].alone
                largest[alone] = max(largest[alone], ended[at][2])
                at += 1
            before = max(largest.values()) if section.alone else largest[True]
            if token <= before:
                bad.append(f"{section.who} has token {token} after {before}")


def alone_per_name(_crowd, _history, found, bad, figures):
    for name in {name for section in found.values() for name in section.names}:
        for section, running in together(s for s in found.values() if name in s.names):
            if len(running) > 1:
                bad.append(f"{name}: {section.who} began beside {running[0].who}")
    turns = collections.Counter(s.group for s in found.values())
    figures.append("turns: " + ", ".join(f"{turns[g]} {g}" for g in sorted(turns)))


def readers_beside_readers(crowd, history, found, bad, figures):
    most, overlapping = 0, 0
    for section, running in together(found.values()):
        writers = [other for other in running if other.group == "writer"]
        if writers and len(running) > 1:
            bad.append(f"{section.who} began beside {[other.who for other in running[:-1]]}")
        most = max(most, len(running))
        overlapping += len(running) > 1
    for look in history.looks:
        seen = look[0]
        if seen.mode in ("write", "exclusive") and len(seen.owners) > 1:
            bad.append(f"in the store: {seen.mode} with {len(seen.owners)} owners")
    readers = [s for s in found.values() if s.group == "reader"]
    writers = [s for s in found.values() if s.group == "writer"]
    figures.append(f"{len(readers)} reader turns, {overlapping} began beside others, "
                   f"{most} at a time; {len(writers)} writer turns")
    if most < max(crowd.groups[0].count / 10, 2):
        bad.append(f"readers hardly overlap: {most} at a time")
    if len({s.who.split(".")[0] for s in writers}) < crowd.groups[1].count:
        bad.append("not every writer entered")


def bounded_wait(crowd, history, found, bad, figures):
    """No reader that came after a waiting writer enters before it. So each reader enters at most once
    before the writer: for the turn for which it waited already."""
    if not history.looks:
        return
    rows = granted(history, found, 0, crowd.names[0])
    counts = []
    for at, row in enumerate(rows):
        if row[2].group.name != "writer" or row[1] is None:
            continue
        before = [other for other in reversed(rows[:at]) if other[0] > row[1]]
        readers = [other for other in before if other[2].group.name == "reader"]
        counts.append(len(readers))
        over = [other[2].who for other in readers if passed(other, row)]
        if over:
            bad.append(f"{row[2].who} was passed by {len(over)}: {over[:5]}")
        if len(readers) > 50:
            bad.append(f"{row[2].who} entered after {len(readers)} reader turns")
    if not counts:
        bad.append("no writer was seen in line")
        return
    back = sum(row[3] for row in rows)
    figures.append(f"a writer that stands enters after {sum(counts) / len(counts):.1f} reader "
                   f"turns, {max(counts)} at most (bound: 50, those who stood before it); "
                   f"{back} times somebody was late for its turn")
    if back > len(rows) / 4:
        bad.append(f"{back} of {len(rows)} were put out of the line")


def three_at_most(_crowd, history, found, bad, figures):
    most = 0
    for section, running in together(found.values()):
        most = max(most, len(running))
        if len(running) > 3:
            bad.append(f"{section.who} began as number {len(running)}")
        taken = [other.who for other in running[:-1] if other.slot == section.slot]
        if taken:
            bad.append(f"{section.who} began in slot {section.slot}, where {taken} runs")
        if section.slot not in ("0", "1", "2"):
            bad.append(f"{section.who} has slot {section.slot}")
    for look in history.looks:
        alive = look[0].alive
        slots = [slot for pid, slot in look[0].records if pid in alive]
        if len(alive) > 3 or len(set(slots)) != len(slots):
            bad.append(f"in the store: {len(alive)} alive, slots {slots}")
    killed = [run for run in history.runs if run.killed]
    inside = [run for run in killed if run.who in found]
    per_slot = collections.Counter(s.slot for s in found.values())
    figures.append(f"{len(found)} turns, {most} at a time, by slot: "
                   f"{', '.join(str(per_slot[s]) for s in sorted(per_slot))}; "
                   f"{len(killed)} killed, {len(inside)} of them inside")
    if most < 3:
        bad.append("never three at a time")
    if not killed:
        bad.append("nobody was killed")


def first_come(crowd, history, found, bad, figures):
    """Of two waiters the one that came first enters first."""
    if not history.looks:
        return
    rows = granted(history, found, 0, crowd.names[0])
    latest, waited = None, 0  # of the runs that have entered, the one that came last
    for row in rows:
        if latest and passed(latest, row):
            bad.append(f"{latest[2].who} entered before {row[2].who}, which stood before it")
        if row[1] is not None:
            waited += 1
        if latest is None or (row[1] or row[2].began) > (latest[1] or latest[2].began):
            latest = row
    back = sum(row[3] for row in rows)
    figures.append(f"in the order in which they came: {len(rows)}, of whom {waited} were seen in "
                   f"line; {back} times somebody was late for its turn")
    if waited < len(rows) / 2:
        bad.append("hardly anybody was seen in line")
    if back > len(rows) / 4:
        bad.append(f"{back} of {len(rows)} were put out of the line")


def never_half(_crowd, history, found, bad, figures):
    """A run that claims both names holds both or neither, at every look."""
    both = {str(run.pid): run.who for run in history.runs if run.group.name.startswith("pair")}
    for run in history.runs:
        if run.group.name.startswith("only"):
            both.pop(str(run.pid), None)  # a pid that came twice
    if not any(len(s.names) == 2 and len(s.tokens) == 2 for s in found.values()):
        bad.append("nobody held two names")
    half, whole = 0, 0
    for look in history.looks:
        held = [{pid for pid in seen.owners if pid in both} for seen in look]
        records = [{pid for pid, _ in seen.records if pid in both} for seen in look]
        whole += bool(held[0] & held[1])
        for one in (held, records):
            if one[0] != one[1]:
                half += 1
                bad.append(f"half held by {[both[pid] for pid in one[0] ^ one[1]]}")
    if history.looks:
        figures.append(f"a pair was seen whole {whole} times, half {half} times")
        if not whole:
            bad.append("no pair was seen")


def always_progress(_crowd, history, found, bad, figures):
    """Every member enters at least twice; at least once if the store has no line."""
    turns = collections.Counter(s.who.split(".")[0] for s in found.values())
    members = {run.who.split(".")[0] for run in history.runs}
    idle = [who for who in members if turns[who] < (2 if history.looks else 1)]
    if idle:
        bad.append(f"hardly ever entered: {idle[:5]}")
    stamps = sorted(s.tokens[0] for s in found.values() if s.tokens)
    if stamps:
        longest = max((b - a for a, b in zip(stamps, stamps[1:])), default=0) / 1e6
        figures.append(f"turns of a member: {min(turns.values())} to {max(turns.values())}; the "
                       f"longest time without a grant: {longest:.2f} s")
        if longest > 10:
            bad.append(f"no progress for {longest:.1f} s")


def one_each(_crowd, history, found, bad, figures):
    """A run that claims one of several names has one, at every look, and no run has another."""
    pool = {str(run.pid): run.who for run in history.runs if run.group.name == "pool"}
    for run in history.runs:
        if run.group.name != "pool":
            pool.pop(str(run.pid), None)  # a pid that came twice
    for section in found.values():
        if section.group == "pool" and len(section.names) != 1:
            bad.append(f"{section.who} has {section.names}")
    seen = 0
    for look in history.looks:
        for what in ("owners", "records"):
            held = collections.Counter(
                word for one in look for word in
                (one.owners if what == "owners" else [pid for pid, _ in one.records]))
            twice = [pool[pid] for pid, count in held.items() if pid in pool and count > 1]
            seen += any(pid in pool for pid in held)
            if twice:
                bad.append(f"in the store: {what} of two names: {twice}")
    if history.looks:
        figures.append(f"{seen} looks at one of several, none of them with two names")
        if not seen:
            bad.append("no run of the pool was seen")


def all_used(crowd, _history, found, bad, figures):
    """Each name has its share of the turns."""
    turns = collections.Counter(n for s in found.values() for n in s.names)
    figures.append("turns by name: " + ", ".join(f"{turns[n]} {n}" for n in crowd.names))
    least = len(found) / len(crowd.names) / 3
    for name in crowd.names:
        if turns[name] < least:
            bad.append(f"{name} had {turns[name]} of {len(found)} turns")


def none_starves(_crowd, history, found, bad, _figures):
    """Those who want the same have nearly the same number of turns. Without a line only some."""
    turns = collections.Counter(s.who.split(".")[0] for s in found.values() if s.group == "pool")
    members = {run.who.split(".")[0] for run in history.runs if run.group.name == "pool"}
    counts = sorted(turns[who] for who in members)
    if not counts or counts[0] * 3 < counts[-1]:
        bad.append(f"turns of the members: {counts}")
