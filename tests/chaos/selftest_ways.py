# SPDX-License-Identifier: MIT
"""The self-test of what is checked on readers, slots, several names, and limits of a hold: I17 to
I21, and what they change in the others."""
from byhand import WORDS, at, good, green, history_of, red, rules_of, section, test
from history import Fault, Held, Run, Stand


# --- histories that are right --------------------------------------------------------------------

def readers(kind="G"):
    """Two read together, whoever was granted second begins first; then a writer."""
    return history_of(section("r1", 6, 25, 11, mode="shared"),
                      section("r2", 4, 20, 12, mode="shared"),
                      section("w", 30, 50, 13, mode="write"), kind=kind)


def slots(kind="G"):
    return history_of(section("s0", 6, 25, 11, mode="slots", slot="0"),
                      section("s1", 4, 20, 12, mode="slots", slot="1"),
                      section("s2", 30, 50, 13, mode="slots", slot="1"),
                      kind=kind, slots={"a": 2})


def names(kind="G"):
    """One has both, then two have one each, at the same time."""
    return history_of(section("b", 0, 20, 11, lock="p,q"), section("p", 30, 50, 13, lock="p"),
                      section("q", 32, 52, 14, lock="q"), kind=kind)


def run(history, name):
    return next(r for r in history.runs if r.id == name)


def held(history, name, lock="a"):
    return next(h for h in history.held if h.owner == f"owner-{name}" and h.lock == lock)


def longer(name, until, *, lock="a", base_end=None):
    """The section and its hold last until then."""
    def change(history):
        one, keeps = run(history, name), held(history, name, lock)
        one.notes[-1] = (at(until), 1, ["end"])
        one.end, keeps.end, keeps.released = at(until + 3), at(until + 2), at(until + 2)
    return change


def all_of(*changes):
    def change(history):
        for one in changes:
            one(history)
    return change


def mode(name, word):
    def change(history):
        run(history, name).notes[0][2][3] = WORDS.get(word, word)
        run(history, name).asked = word
        held(history, name).mode = word
    return change


# --- who runs beside whom ------------------------------------------------------------------------

def beside():
    for base in (readers, slots, names):
        test(f"a right history of {base.__name__}", rules_of(base()) == set())
        test(f"and of {base.__name__} in class B", rules_of(base("B")) == set())

    red("a reader beside a writer", "I17", longer("r1", 40), base=readers)
    green("the same in class B", longer("r1", 40), "B", base=readers)
    red("a reader that sees a number change", "I17",
        lambda h: run(h, "r2").notes.insert(-1, (at(19), 1, ["torn"])), base=readers)
    red("readers beside one that is alone", "I17", all_of(mode("w", "exclusive"), longer("r2", 35)),
        base=readers)
    red("a token of a writer below that of a reader", "I2", lambda h: (
        run(h, "w").notes[0][2].__setitem__(1, "10"), h.writes.clear(),
        h.grants.__setitem__(2, (*h.grants[2][:3], 10))), base=readers)
    red("the same of a reader that came when the other read", "I2", lambda h: (
        setattr(run(h, "r1"), "start", at(5)), h.grants.sort(key=lambda g: g[3])), base=readers)

    red("a slot twice", "I18", longer("s1", 35), base=slots)
    red("more than there are slots", "I18", all_of(longer("s1", 35), longer("s0", 35), lambda h: (
        run(h, "s2").notes[0][2].__setitem__(4, "7"),
        h.sums.clear(), h.writes.clear())), base=slots)
    green("the next slot", longer("s0", 35), base=slots)
    red("a slot that is none", "I18", lambda h: (
        run(h, "s2").notes[0][2].__setitem__(4, "2"), h.sums.clear(), h.writes.clear()), base=slots)
    red("a section without its number", "I18", lambda h: (
        run(h, "s2").notes[0][2].__setitem__(4, "-"), h.sums.clear(), h.writes.clear()), base=slots)
    red("somebody alone beside slots", "I18", all_of(longer("s0", 35), lambda h: (
        mode("s2", "exclusive")(h), h.sums.clear(), h.writes.clear())), base=slots)
    red("an addition lost in a slot", "I11", lambda h: h.sums.update({"a.1": 1}), base=slots)
    red("a refused write in a slot", "I1", lambda h: h.writes["a.1"].append((12, "s1", False)),
        base=slots)


def several():
    def early(history):
        one, keeps = run(history, "q"), held(history, "q", "q")
        one.notes[0] = (at(15), *one.notes[0][1:])
        one.events[0]["boot_ns"] = at(14)
        keeps.start = at(13)
    red("one name within both", "I19", early, base=names)
    green("the same in class B", early, "B", base=names)
    red("one name without the other", "I19", lambda h: (
        h.held.remove(held(h, "b", "q"))), base=names)
    red("one name earlier than the other", "I19", lambda h: setattr(
        held(h, "b", "q"), "start", at(-10)), base=names)
    red("one name given back, the other kept", "I19", lambda h: (
        setattr(held(h, "b", "q"), "end", at(900)), setattr(held(h, "b", "q"), "released", 0),
        setattr(held(h, "b", "q"), "how", "expired")), base=names)
    red("one that is there still", "I19", lambda h: (
        setattr(held(h, "b", "q"), "end", 0), setattr(held(h, "b", "q"), "released", 0)),
        base=names)
    def left_of_a_dead_one(history, own):
        held(history, "b", "p").own, held(history, "b", "q").own = at(20), at(own)
        held(history, "b", "q").end = held(history, "b", "q").released = at(900)
    green("what had joined both, taken out one after the other",
          lambda h: left_of_a_dead_one(h, 20), base=names)
    red("the same, but both were not given back at once", "I19",
        lambda h: left_of_a_dead_one(h, 40), base=names)
    green("one that was taken away before", lambda h: (
        setattr(held(h, "b", "q"), "end", at(21)), setattr(held(h, "b", "q"), "released", 0),
        setattr(held(h, "b", "q"), "how", "removed")), base=names)
    red("an addition lost in the second", "I11", lambda h: h.sums.update(q=1), base=names)
    red("a token of the second that falls", "I2", lambda h: (
        run(h, "q").notes[0][2].__setitem__(1, "12"), h.writes.clear(),
        h.grants.__setitem__(3, (*h.grants[3][:3], 12))), base=names)


# --- limits --------------------------------------------------------------------------------------

def limits():
    def timed(history, **more):
        one = history.runs[1]
        one.status, one.max_hold = 124, 5 * 10**6
        one.events.append({"boot_ns": at(35), "event": "time_up"})
        for key, value in more.items():
            setattr(one, key, value)
    green("a run whose time was up", timed)
    green("one whose lease was not renewed", lambda h: timed(h, max_hold=0, renews=False))
    red("124 without a word", "I10", lambda h: (timed(h), h.runs[1].events.pop()))
    red("time that is up without a limit", "I10", lambda h: timed(h, max_hold=0))
    red("0 for one whose time was up", "I10", lambda h: timed(h, status=0))
    red("its result file says otherwise", "I10", lambda h: timed(h, result={"outcome": "child"}))
    red("a result that time was up, and 0", "I10", lambda h: h.runs[1].result.update(
        outcome="time_up"))
    red("another token in the list of a result", "I10", lambda h: h.runs[1].result.update(
        outcome="child", locks=[{"token": 9}]))
    red("a reader that was told to write", "I10", lambda h: setattr(
        run(h, "r1"), "asked", "write"), base=readers)

    def over(ms):
        def change(history):
            one, keeps = history.runs[1], history.held[1]
            timed(history, max_hold=10**7)
            one.notes[-1] = (at(29 + 10 + ms), 1, ["tick"])
            one.end, keeps.end, keeps.released = at(1900), at(1895), at(1895)
            one.events.append({"boot_ns": at(300), "event": "renewed", "safe_until_ns": at(1800)})
        return change
    red("a section that outlasts its time", "I21", over(800))
    green("one within the time that a KILL takes", over(600))
    green("one whose dlock was frozen", lambda h: (
        over(800)(h), h.faults.append(Fault(at(20), at(700), "dlock-stop", "0"))))
    green("one whose dlock could not write", lambda h: (
        over(800)(h), h.slow.append((at(20), at(700)))))
    red("one with another fault", "I21", lambda h: (
        over(800)(h), h.faults.append(Fault(at(20), at(700), "blackhole", "0"))))
    red("a renewal that was not to be", "I21", lambda h: (
        setattr(h.runs[1], "renews", False), h.runs[1].events.append(
            {"boot_ns": at(40), "event": "renewed", "safe_until_ns": at(1020)})))

    def kept(until, how="expired", since=52):
        def change(history):
            history.runs[1].min_hold = 600 * 10**6
            if until:
                history.held.append(Held("a", "owner-r2#kept", at(since), at(until), how))
        return change
    green("a lock that is kept", kept(629))
    red("one that is not", "I21", kept(0))
    red("one that is kept too short", "I21", kept(400))
    red("one that is kept too long", "I21", kept(700))
    green("one that was taken away", kept(300, "removed"))
    green("one of a run that was killed", lambda h: (
        kept(0)(h), h.runs[1].notes.pop(), setattr(h.runs[1], "status", -15),
        h.runs[1].sent.append((at(49), 15))))

    def lost_without_renewals(history):
        one = history.runs[0]
        one.renews = False
        one.notes[-1] = (at(900), 1, ["end"])
        one.end, history.held[0].end, history.held[0].how = at(2000), at(5), "removed"
        history.held[0].released = 0
    green("a lost lock that nobody renews", lost_without_renewals, "B")
    red("the same, renewed", "I6", lambda h: (
        lost_without_renewals(h), setattr(h.runs[0], "renews", True)), "B")


# --- the line ------------------------------------------------------------------------------------

def wait(number, since, end, how="granted", wants="exclusive", lock="a"):
    def change(history):
        history.runs.append(Run(f"w{number}", lock, client=number, pid=number, start=at(since - 5),
                                end=at(90000), status=75))
        history.stands.extend(Stand(name, f"uuid:{number}#1", at(since), at(end), how, [at(since)],
                                    wants) for name in lock.split(","))
    return change


def holds(start, end, wants="exclusive", how="released", lock="a", owner="x"):
    return lambda h: h.held.append(Held(lock, owner, at(start), at(end), how, mode=wants))


def waiting():
    late = [holds(53, 9000, "shared"), wait(7, 60, 4000, wants="shared")]
    red("a reader that waits for readers", "I16", all_of(*late))
    green("the same behind a writer", all_of(*late, wait(6, 55, 5000)))
    red("the same when the writer has left", "I16", all_of(*late, wait(6, 55, 500, "left")))
    green("a writer that waits for a reader", all_of(late[0], wait(7, 60, 4000, wants="write")))
    green("a reader that waits for slots", all_of(holds(53, 9000, "slots"), late[1]))
    two = [holds(53, 9000, "slots"), wait(7, 60, 4000, wants="slots")]

    def of_two(*changes):
        return all_of(lambda h: h.slots.update(a=2), *changes)
    red("a slot that is free", "I16", of_two(*two))
    green("none that is", of_two(*two, holds(54, 9000, "slots", owner="y")))
    red("one that becomes free", "I16", of_two(*two, holds(54, 1000, "slots", owner="y")))
    green("one that is taken again", of_two(*two, holds(54, 1000, "slots", owner="y"), holds(
        1900, 9000, "slots", owner="z")))

    both = [wait(7, 60, 4000, lock="p,q"), holds(53, 100, lock="p")]
    red("both names are free", "I16", all_of(*both), base=names)
    green("one of them is not", all_of(*both, holds(53, 3900, lock="q")), base=names)
    green("who stands behind it", all_of(*both, holds(53, 3900, lock="q"), wait(
        8, 70, 4010, lock="p"), holds(4000, 9000, lock="p"), holds(4000, 9000, lock="q")),
        base=names)
    red("who stands behind nobody", "I16", all_of(holds(53, 3900, lock="q"), wait(
        8, 70, 4010, lock="p")), base=names)

    writer = [holds(53, 3000, "shared"), wait(7, 60, 3100, wants="write"),
              wait(8, 70, 90000, wants="shared")]
    later = all_of(*writer, lambda h: (
        h.held.append(Held("a", "uuid:8", at(2000), at(3000), "released", mode="shared")),
        h.grants.append((at(2000), "a", "uuid:8#1", 20)),
        setattr(h.stands[-1], "end", at(2000))), holds(3100, 9000, "write"))
    red("a reader that came later and reads first", "I20", later)
    green("the same in class B", later, "B")
    green("the same while the writer is frozen", all_of(later, lambda h: h.faults.append(
        Fault(at(100), at(3000), "waiter-stop", "7"))))
    green("a reader that is over and kept", all_of(later, lambda h: setattr(
        h.held[-2], "owner", "uuid:8#kept")))
    red("one that did not even wait", "I20", all_of(later, lambda h: h.stands.pop()))
    green("a reader that came before", all_of(later, lambda h: setattr(
        h.stands[-1], "since", at(59))))
    green("a reader that waits for its turn", all_of(*writer, holds(3100, 90000, "write")))


def hand_written():
    beside()
    several()
    limits()
    waiting()


__all__ = ["good", "hand_written"]
