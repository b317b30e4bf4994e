# SPDX-License-Identifier: MIT
"""The words in which the self-test of the checks writes histories and MONITOR streams by hand, and
its count of what came out."""
from checks import check
from history import MS, SECOND, Held, History, Run
from monitor import Clock
from shadow import Shadow

START = 100 * SECOND
passed, failed = [], []


def test(name, fine):
    if fine:
        passed.append(name)
    else:
        failed.append(name)
        print(f"not ok: {name}")


# --- histories -----------------------------------------------------------------------------------

def at(ms):
    return START + int(ms * MS)


WORDS = {"exclusive": "plain", "write": "exclusive"}  # in DLOCK_MODE, for what records say


def section(name, begin, end, token, lock="a", mode="exclusive", slot="-", **more):
    """A run that is right: granted, started, ended, released. Of several names, each token is one
    more than that before."""
    names = lock.split(",")
    owner = f"owner-{name}"
    told = [",".join(words) for words in ([str(token + i) for i in range(len(names))],
                                          [owner] * len(names))]
    adds = names if mode != "shared" else []
    notes = [(at(begin), 1, ["begin", *told, WORDS.get(mode, mode), slot]), (at(begin) + 1, 1, ["counted"]),
             (at((begin + end) / 2), 1, ["tick"]),
             *((at(end) - 8 + i, 1, ["sum-begin", "1"]) for i in range(len(adds))),
             *((at(end) - 4 + i, 1, ["sum-end", "1"]) for i in range(len(adds))),
             (at(end), 1, ["end"])]
    granted = {"boot_ns": at(begin - 1), "event": "granted", "hold": owner + "#1",
               "safe_until_ns": at(begin - 2 + 980)}
    run = Run(name, lock, start=at(begin - 3), end=at(end + 3), notes=notes, events=[granted],
              asked=mode)
    for key, value in more.items():
        setattr(run, key, value)
    return run


def history_of(*runs, kind="G", slots=None):
    history = History(kind=kind, runs=list(runs), slots=slots or {})
    for run in runs:
        for name in run.names:
            history.held.append(Held(name, run.owner(), run.first() - MS, run.last() + 2 * MS,
                                     "released", run.last() + 2 * MS, run.mode()))
            history.grants.append((run.first() - MS, name, run.owner() + "#1", run.token(name)))
        for name, resource in zip(run.names, run.resources()):
            history.sums[resource] = history.sums.get(resource, 0) + 1
            history.writes.setdefault(resource, []).append((run.token(name), run.id, True))
        history.counts[run.lock] = history.counts.get(run.lock, 0) + 1
    return history


def good(kind="G"):
    return history_of(section("r1", 0, 20, 11), section("r2", 30, 50, 12), kind=kind)


def rules_of(history):
    return {rule for rule, found in check(history).items() if found}


def red(name, rule, change, kind="G", base=good):
    """The change must bring the rule up, and no other."""
    history = base(kind)
    change(history)
    found = rules_of(history)
    test(f"{rule}: {name} (found {sorted(found)})", found == {rule})


def green(name, change, kind="G", base=good):
    history = base(kind)
    change(history)
    found = check(history)
    test(f"{name} is allowed ({[str(v) for f in found.values() for v in f]})", not any(
        found.values()))


# --- the store -----------------------------------------------------------------------------------

T, H, R = "redisson_lock_token:{dlock:a}", "dlock:holds:{dlock:a}", "dlock:revoked:{dlock:a}"
TAG, D = "{dlock:a}", "dlock:done:{dlock:a}"
L, W = "dlock:line:{dlock:a}", "dlock:waiters:{dlock:a}"
CHANNEL, TURN = "redisson_lock__channel:{dlock:a}", "dlock:turn:{dlock:a}:"


def waiter(owner):
    return '{"id":"%s#1","host":"h"}' % owner


class Stream:
    """MONITOR lines, µs after each other."""

    def __init__(self):
        self.lines, self.now = [], START // 1000

    def line(self, who, *words):
        self.now += 10
        text = " ".join('"' + w.replace("\\", "\\\\").replace('"', '\\"') + '"' for w in words)
        self.lines.append(f"{self.now // 10**6}.{self.now % 10**6:06d} [0 {who}] {text}")

    def script(self, kind, keys, args, *inner):
        self.line("127.0.0.1:1", "EVAL", f"-- {kind}:", str(len(keys)), *keys, *args)
        for words in inner:
            self.line("lua", *words)
        return self

    def acquire(self, owner, token, *more, ttl="1000", me="", before=()):
        """`me`: who it is in line; `before`: what it does to the line first."""
        return self.script(
            "acquire", ["dlock:a", T, H, R, L, W], [owner, "1", "1000", "{}", me, "", TURN],
            ["TYPE", "dlock:a"], *before,
            ["SET", T, str(token), "PX", "86400000"], ["DEL", H, R],
            ["HSET", "dlock:a", owner, "1"],
            *([["PEXPIRE", "dlock:a", ttl]] if ttl else []),
            ["HSET", H, owner + "#1", '{"token":%d,"x":1}' % token], ["PEXPIRE", H, "1000"],
            *(self.out(me) if me else []), *more)

    def stand(self, owner, *before, life=10000, again=False, score=None):
        """Refused, and in line."""
        me = waiter(owner)
        place = [] if again else [["ZADD", L, str(score or self.now), me]]
        return self.script(
            "acquire", ["dlock:a", T, H, R, L, W], [owner, "1", "1000", "{}", me, "", TURN],
            *before, ["ZSCORE", L, me], *place, ["ZADD", W, self.ms(life), me],
            ["PEXPIRE", L, "60000"], ["PEXPIRE", W, "60000"], ["TYPE", "dlock:a"])

    def ms(self, later):
        return str(self.now // 1000 + later)

    def turn(self, owner, life=1000, behind=None):
        """The first is told, and the one behind it."""
        cut = [["ZADD", W, "LT", self.ms(life), waiter(owner)]] if life else []
        return [["PUBLISH", f"{TURN}{owner}#1", "turn"], *cut,
                *([["PUBLISH", f"{TURN}{behind}#1", "next"]] if behind else [])]

    @staticmethod
    def probe(owner):
        """Does it still listen?"""
        return ["PUBLISH", f"{TURN}{owner}#1", "wait"]

    @staticmethod
    def out(me):
        return [["ZREM", L, me], ["ZREM", W, me]]

    def renew(self, owner, kept=True, field=None, ttl="1000"):
        lasting = [["PEXPIRE", "dlock:a", "1000"], ["PEXPIRE", H, "1000"]] if ttl != "0" else []
        tail = [["HSET", H, owner + "#1", "{}"], *lasting] if kept else [["TIME"]]
        return self.script("renew", ["dlock:a", H, R], ["1", ttl, "0", owner, "exclusive", TAG],
                           ["HDEL", H, owner + "#1"], ["HEXISTS", "dlock:a", field or owner], *tail)

    def release(self, owner, *offer, field=None, writes=True):
        field = field or owner
        given = ["dlock:a", H, R, L, W, D], ["1", "0", owner, TAG, "0"]
        if not writes:
            return self.script("release", *given, ["HGET", H, owner + "#1"])
        return self.script("release", *given, ["HDEL", H, owner + "#1"],
                           ["HINCRBY", "dlock:a", field, "-1"], ["HDEL", "dlock:a", field],
                           ["DEL", H], ["PUBLISH", CHANNEL, "0"], *offer)

    def leave(self, owner, *offer):
        return self.script("leave", ["dlock:a", L, W], [waiter(owner), TAG],
                           *self.out(waiter(owner)), ["EXISTS", "dlock:a"], *offer)

    def after(self, ms):
        self.now += ms * 1000
        return self


def follow(stream):
    history = History()
    shadow = Shadow(history, Clock(0))
    for line in stream.lines:
        shadow.feed(line)
    shadow.end()
    return history


def stored(name, stream, *rules):
    found = [(v.rule, v.text) for v in follow(stream).store_violations]
    test(f"store: {name} ({found})", {r for r, _ in found} == set(rules))
