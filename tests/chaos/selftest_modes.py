# SPDX-License-Identifier: MIT
"""The self-test of the shadow of the store in the other ways to hold: readers and writers, slots,
several names in one script, a lock that is kept."""
from byhand import START, TURN, Stream, follow, stored, test, waiter


GIVEN = ("lock", "holds", "revoked", "line", "waiters", "done")


def keys(lock, *what):
    tag = "{dlock:%s}" % lock
    return ["dlock:" + lock if w == "lock" else "redisson_lock_token:" + tag if w == "token" else
            f"dlock:{w}:{tag}" for w in what]


def lease(owner, number=1, lock="a"):
    return "{dlock:%s}:%s:rwlock_timeout:%d" % (lock, owner, number)


class Modes(Stream):
    """Scripts of owners who hold with others; each has one hold, `number` counts nested ones."""

    def claim(self, owner, *inner, me="", locks=("a",), serial="1", script="acquire"):
        every = sum((keys(name, "lock", "token", "holds", "revoked", "line", "waiters", "done")
                     for name in locks), [])
        return self.script(script, every, [owner, serial, "1000", "{}", me, "", TURN], *inner)

    def enter(self, owner, token, mode="read", *, lock="a", record="", ms="1000", more=(), me="",
              before=()):
        """Another one beside those who are there."""
        h, t = keys(lock, "holds", "token")
        name = {"write": "write", "read": "shared"}.get(mode, "slots")
        taken = [["SET", t, str(token), "PX", "86400000"],
                 ["HSET", "dlock:" + lock, "mode", mode],
                 ["HINCRBY", "dlock:" + lock, owner + ":write" * (mode == "write"), "1"],
                 *([] if mode == "write" else [["SET", lease(owner, 1, lock), "1", "PX", ms]]),
                 ["PEXPIRE", "dlock:" + lock, ms],
                 ["HSET", h, owner + "#1", '{"token":%d,"mode":"%s"%s}' % (token, name, record)],
                 ["PEXPIRE", h, "1000"]]
        return self.claim(owner, *before, *taken, *(self.out(me) if me else []), *more, me=me)

    def slot(self, owner, token, number, of=2, **more):
        return self.enter(owner, token, f"slots:{of}", record=',"slot":%d' % number, **more)

    def beat(self, owner, ms="1000", whose=None):
        """A renewal."""
        h, = keys("a", "holds")
        return self.script("renew", keys("a", "lock", "holds", "revoked"),
                           ["1", "1000", owner, "shared", "{dlock:a}"],
                           ["HDEL", h, owner + "#1"], ["HSET", h, owner + "#1", "{}"],
                           ["SET", lease(whose or owner), "1", "PX", ms],
                           ["PEXPIRE", "dlock:a", ms], ["PEXPIRE", h, ms])

    def exit(self, owner, *more, last=False, mode="read"):
        h, = keys("a", "holds")
        name = owner + ":write" * (mode == "write")
        return self.give_back(owner, ["HDEL", h, owner + "#1"],
                              ["HINCRBY", "dlock:a", name, "-1"], ["HDEL", "dlock:a", name],
                              ["DEL", lease(owner)], *([["DEL", "dlock:a"]] if last else []), *more)

    def give_back(self, owner, *inner, locks=("a",)):
        every = sum((keys(name, *GIVEN) for name in locks), [])
        return self.script("release", every, ["1", "0", *sum((
            [owner, "{dlock:%s}" % name, "0"] for name in locks), [])], *inner)

    def dead(self, owner):
        return [["HDEL", "dlock:a", owner], ["HDEL", *keys("a", "holds"), owner + "#1"]]

    def wait(self, owner, mode):
        me = reads(owner) if mode == "shared" else waiter(owner)
        line, waiters = keys("a", "line", "waiters")
        return self.claim(owner, ["ZADD", line, str(self.now), me],
                          ["ZADD", waiters, self.ms(10000), me], ["PEXPIRE", line, "60000"],
                          ["PEXPIRE", waiters, "60000"], me=me)

    def your_turn(self, owner):
        me = reads(owner)
        return [["PUBLISH", f"{TURN}{owner}#1", "turn"],
                ["ZADD", *keys("a", "waiters"), "LT", self.ms(1000), me]]


def reads(owner):
    return '{"id":"%s#1","mode":"shared","host":"h"}' % owner


def readers():
    both = Modes().enter("A", 5).after(300).enter("B", 6)
    stored("readers, one after the other", both.after(300).beat("A").exit("A").after(100).exit(
        "B", last=True))
    history = follow(both)
    test("store: their holds", [(h.owner, h.how, h.mode) for h in history.held] == [
        ("A", "released", "shared"), ("B", "released", "shared")])
    stored("a writer after them", both.enter("C", 7, "write").exit("C", mode="write", last=True))
    stored("a writer beside a reader", Modes().enter("A", 5).enter("B", 6, "write"), "I17")
    stored("a reader beside a writer", Modes().enter("A", 5, "write").enter("B", 6), "I17")
    stored("one alone beside a reader", Modes().enter("A", 5).acquire("B", 6), "I17")
    stored("a reader beside one alone", Modes().acquire("A", 5).enter("B", 6), "I17")

    dies = Modes().enter("A", 5).after(400).enter("B", 6).after(500).beat("B").after(200)
    stored("a reader that dies, and is taken out", dies.claim("C", *dies.dead("A")))
    test("store: it has ended with its own lease", [
        h.how for h in follow(dies).held if h.owner == "A"] == ["expired"])
    stored("one alone after readers whose leases have just ended", Modes().enter(
        "A", 5, more=[["PEXPIRE", "dlock:a", "1004"]]).after(1007).acquire("B", 6))
    early = Modes().enter("A", 5).enter("B", 6)
    stored("one that is taken out and lives", early.claim("C", *early.dead("A")), "I7")
    dies = Modes().enter("A", 5).after(400).enter("B", 6).after(700)
    stored("a renewal of a dead reader", dies.beat("A"), "I7")

    def look(ms):
        whole = '{"token":5,"mode":"shared","ttl_ms":1000}'
        return Modes().enter("A", 5).after(700).script(
            "renew", keys("a", "lock", "holds", "revoked"), ["1", "0", "A", "shared", "{dlock:a}"],
            ["HDEL", *keys("a", "holds"), "A#1"], ["HSET", *keys("a", "holds"), "A#1", whole],
            ["SET", lease("A"), "1", "PX", ms], ["PEXPIRE", "dlock:a", ms])
    stored("a look that mends a lease", look("1000"))
    stored("one that gives too much", look("2000"), "I7")
    late = Modes().acquire("A", 5).after(1100).enter("B", 6)
    stored("one too late that takes itself out of a reader's lock", late.script(
        "renew", keys("a", "lock", "holds", "revoked"),
        ["1", "1000", "A", "exclusive", "{dlock:a}"],
        ["HDEL", *keys("a", "holds"), ""], ["HDEL", "dlock:a", "A"], ["TIME"]))
    stored("a renewal of another reader", Modes().enter("A", 5).enter("B", 6).after(300).beat(
        "A", whose="B"), "I7")
    stored("a renewal that shortens another's", Modes().enter("A", 5).enter("B", 6).beat(
        "A", ms="300"), "I7")
    stored("a release that removes another", Modes().enter("A", 5).enter("B", 6).exit(
        "A", ["HDEL", "dlock:a", "B"]), "I7", "I13")
    stored("a release that deletes with readers left", Modes().enter("A", 5).enter("B", 6).exit(
        "A", last=True), "I7", "I13")
    stored("a lock of nobody", Modes().enter("A", 5).exit("A"), "I7")
    stored("a lock that ends before its readers", Modes().enter(
        "A", 5, more=[["PEXPIRE", "dlock:a", "500"]]), "I7")
    stored("a token that falls", Modes().enter("A", 5).enter("B", 5), "I2")

    inner = ['{"token":5,"mode":"shared"}', "A#2", *keys("a", "holds")]
    down = Modes().enter("A", 5, "write")
    down.claim("B", ["HINCRBY", "dlock:a", "A", "1"], ["SET", lease("A"), "1", "PX", "1000"],
               ["PEXPIRE", "dlock:a", "1000"], ["HSET", inner[2], inner[1], inner[0]], serial="2")
    down.give_back("A", ["HDEL", inner[2], "A#1"], ["HINCRBY", "dlock:a", "A:write", "-1"],
                   ["HDEL", "dlock:a", "A:write"], ["HSET", "dlock:a", "mode", "read"])
    stored("a writer that goes on as a reader", down.enter("C", 6))


def line_of_readers():
    def start():
        return Modes().enter("W", 5, "write").wait("B", "shared").wait("C", "shared").wait(
            "D", "write")

    def freed():
        line = start()
        return line.exit("W", *line.your_turn("B"), mode="write", last=True)
    line = freed()
    line.enter("B", 6, me=reads("B"), more=line.your_turn("C"))
    stored("readers enter together", line.enter("C", 7, me=reads("C")))
    stored("the second is told of nothing", freed().enter("B", 6, me=reads("B")), "I16")
    stored("a reader past them", freed().enter("E", 6), "I15")

    def entered():
        line = freed()
        return line.enter("B", 6, me=reads("B"), more=line.your_turn("C")).enter(
            "C", 7, me=reads("C"))
    stored("a reader past a writer", entered().enter("E", 8), "I15")
    line = entered()
    stored("the writer is told", line.exit("B").exit("C", *line.turn("D"), last=True))
    stored("the writer is told of nothing", entered().exit("B").exit("C", last=True), "I16")


def slots():
    two = Modes().slot("A", 5, 0).after(10).slot("B", 6, 1)
    stored("two slots", two.exit("A").slot("C", 7, 0).exit("B").exit("C", last=True))
    stored("a slot twice", Modes().slot("A", 5, 0).slot("B", 6, 0), "I18")
    stored("a third slot of two", Modes().slot("A", 5, 0).slot("B", 6, 1).slot("C", 7, 2), "I18")
    stored("another number of slots", Modes().slot("A", 5, 0).slot("B", 6, 1, of=3), "I18")
    stored("one alone beside a slot", Modes().slot("A", 5, 0).acquire("B", 6), "I18")
    stored("a slot of a dead one", Modes().slot("A", 5, 0).after(1100).slot("B", 6, 0))

    def beside_dead(number):
        return Modes().slot("A", 5, 0, of=3).after(400).slot("B", 6, 1, of=3).after(600).slot(
            "C", 7, number, of=3)
    stored("a slot of one that is just dead beside one that lives", beside_dead(0))
    stored("a slot of one that lives beside a dead one", beside_dead(1), "I18")


def both(owner, token, locks=("p", "q"), of=("p", "q"), script="acquire", first=None, me="",
         more=()):
    """Takes these locks, where it asks for those. `more`: what it does afterwards."""
    out = []
    for lock in locks:
        h, t = keys(lock, "holds", "token")
        out += [["SET", t, str(token), "PX", "86400000"], ["HSET", "dlock:" + lock, owner, "1"],
                ["PEXPIRE", "dlock:" + lock, "1000"],
                ["HSET", h, owner + "#1", '{"token":%d}' % token], ["PEXPIRE", h, "1000"]]
    return (first or Modes()).claim(owner, *out, *more, locks=of, script=script, me=me)


def chosen(owner, token, *locks, **more):
    return both(owner, token, locks, script="acquire_one", **more)


def chosen_in_line(*last):
    """A waits for one of two names, and B for the second; A gets the first."""
    def stands(lock, owner, at):
        line, waiters = keys(lock, "line", "waiters")
        return [["ZADD", line, at, waiter(owner)], ["ZADD", waiters, waits.ms(10000), waiter(owner)]]
    waits = Modes()
    waits.claim("A", *stands("p", "A", "7"), *stands("q", "A", "7"), locks=("p", "q"),
                script="acquire_one", me=waiter("A"))
    waits.claim("B", *stands("q", "B", "8"), locks=("q",), me=waiter("B"))
    leaves = [["ZREM", key, waiter("A")] for lock in ("p", "q")
              for key in keys(lock, "line", "waiters")]
    return chosen("A", 5, "p", first=waits, me=waiter("A"), more=[*leaves, *last])


def several():
    def gone(lock):
        return [["HDEL", *keys(lock, "holds"), "A#1"], ["HINCRBY", "dlock:" + lock, "A", "-1"],
                ["HDEL", "dlock:" + lock, "A"]]
    stored("two names", both("A", 5).give_back("A", *gone("p"), *gone("q"), locks=("p", "q")))
    stored("one of two names", both("A", 5, ("p",)), "I19")
    stored("a name that was not asked for", both("A", 5, of=("p",)), "I7")
    stored("one name, which is enough", chosen("A", 5, "p"))
    stored("two names, of which one is enough", chosen("A", 5, "p", "q"), "I19")
    stored("a second name for a claim that is repeated", chosen(
        "A", 6, "q", first=chosen("A", 5, "p")), "I19")
    told = ["PUBLISH", "dlock:turn:{dlock:q}:B#1", "turn"]
    cut = ["ZADD", *keys("q", "waiters"), "LT", str(START // 10**6 + 1000), waiter("B")]
    stored("a grant after which the next in the other line is called", chosen_in_line(told, cut))
    stored("a grant after which it is not", chosen_in_line(), "I16")
    stored("one given back", both("A", 5).give_back("A", *gone("p"), locks=("p", "q")), "I19")


def kept():
    def keep(ms, keep_ms):
        h, = keys("a", "holds")
        return Stream().acquire("A", 5).after(100).script(
            "release", keys("a", *GIVEN), ["1", "0", "A", "{dlock:a}", str(keep_ms)],
            ["HDEL", h, "A#1"],
            ["HSET", h, "A#kept", '{"token":5,"kept":true}'], ["PEXPIRE", "dlock:a", str(ms)],
            ["PEXPIRE", h, str(ms)])
    stored("a lock that is kept", keep(700, 700).after(701).acquire("B", 6))
    test("store: for so long", [(h.owner, h.how, round((h.end - h.start) / 10**7)) for h in follow(
        keep(700, 700).after(800).acquire("B", 6)).held][:2] == [
            ("A", "released", 10), ("A#kept", "expired", 70)])
    stored("a renewal of what is kept", keep(700, 700).renew("A"), "I7", "I13")
    stored("granted while it is kept", keep(700, 700).after(600).acquire("B", 6), "I7")
    stored("kept without a wish", keep(700, 0), "I7")
    stored("kept for longer", keep(900, 700), "I7")


def hand_written_store():
    readers()
    line_of_readers()
    slots()
    several()
    kept()
