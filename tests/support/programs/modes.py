#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Crowds that hold one lock in one way or another, and what must be true of them.

    modes.py CROWD SECONDS FOLDER

Runs the crowd against $DLOCK_URL for SECONDS. Each member starts one `dlock run` after the other.
Meanwhile the state of all names in the server at $REDIS_SOCKET, if it is set, is read all the time.
Then the rules of modes_rules.py judge what the sections wrote down and what was read. Prints figures
and the violations; fails if there are any. FOLDER gets the record and the messages of dlock.

Without a server the crowds are smaller: all of them change one small file.
The crowds that end in "!" are wrong on purpose: what they break must be found.
"""
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import modes_rules

# Reads all names in one script, so that no claim of several names is seen half granted. The answer
# has five words for each name: the owners; those of them whose own lease runs; "pid/slot" of each
# record; "pid/arrival" of each waiter in order; and the mode.
LOOK = """
local out = {}
for _, name in ipairs(ARGV) do
  local lock = 'dlock:' .. name
  local tagged, owners, alive, records, line = '{' .. lock .. '}', {}, {}, {}, {}
  local mode = '-'
  if redis.call('TYPE', lock).ok == 'hash' then
    mode = redis.call('HGET', lock, 'mode') or 'exclusive'
    for _, owner in ipairs(redis.call('HKEYS', lock)) do
      if owner ~= 'mode' then
        local bare = owner:gsub(':write$', '')
        local pid = bare:match(':(%d+)$') or bare
        owners[#owners + 1] = pid
        if mode == 'exclusive' or bare ~= owner
           or redis.call('EXISTS', tagged .. ':' .. bare .. ':rwlock_timeout:1') == 1 then
          alive[#alive + 1] = pid
        end
      end
    end
  end
  local holds = redis.call('HGETALL', 'dlock:holds:' .. tagged)
  for i = 1, #holds, 2 do
    local slot = holds[i + 1]:match('"slot":(%d+)') or '-'
    records[#records + 1] = holds[i]:match(':(%d+)#') .. '/' .. slot
  end
  local waiters = redis.call('ZRANGE', 'dlock:line:' .. tagged, 0, -1, 'WITHSCORES')
  for i = 1, #waiters, 2 do
    line[#line + 1] = (waiters[i]:match('^{"id":"[^"]*:(%d+)#') or '?') .. '/' .. waiters[i + 1]
  end
  for _, list in ipairs({owners, alive, records, line}) do
    out[#out + 1] = table.concat(list, ' ')
  end
  out[#out + 1] = mode
end
return out
"""


@dataclass
class Group:
    """Members of a crowd that all do the same; `count` says how many."""
    name: str
    count: int
    section_ms: int
    words: list  # of dlock run; none: the section runs without any lock
    pause_ms: int = 20


@dataclass
class Crowd:
    groups: list
    names: list
    rules: list
    kills_per_s: float = 0.0
    line: bool = True  # the rules about the line are checked too


@dataclass
class Run:
    who: str
    group: Group
    began: int  # µs of the wall clock, which the server shows in tokens and arrivals
    pid: int = 0
    killed: bool = False
    status: int = 0


@dataclass
class Seen:
    """One name at one moment."""
    owners: list
    alive: list
    records: list  # (pid, slot)
    line: list  # (pid, arrival)
    mode: str


@dataclass
class History:
    runs: list = field(default_factory=list)
    looks: list = field(default_factory=list)  # each a Seen for each name
    record: str = ""
    took: float = 0.0


class Server:
    """Just enough RESP to run one script that answers with a list of strings."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def evaluate(self, script, arguments):
        words = ["EVAL", script, "0", *arguments]
        text = f"*{len(words)}\r\n" + "".join(f"${len(w.encode())}\r\n{w}\r\n" for w in words)
        self.socket.sendall(text.encode())
        first = self.file.readline()
        assert first[:1] == b"*", first
        answer = []
        for _ in range(int(first[1:])):
            size = int(self.file.readline()[1:])
            answer.append(self.file.read(size + 2)[:-2].decode())
        return answer


def pairs(text):
    return [tuple(word.split("/")) for word in text.split()]


class Observer(threading.Thread):
    def __init__(self, path, names, looks):
        super().__init__(daemon=True)
        self.server, self.names, self.looks, self.over = Server(path), names, looks, False

    def run(self):
        last = None
        while not self.over:
            answer = self.server.evaluate(LOOK, self.names)
            if answer != last:  # an equal answer tells nothing new
                last = answer
                self.looks.append([Seen(o.split(), a.split(), pairs(r), pairs(l), m)
                                   for o, a, r, l, m in zip(*[iter(answer)] * 5)])
            time.sleep(0.008)


class Drive:
    """Keeps a crowd going."""

    def __init__(self, crowd, seconds, folder):
        self.crowd, self.folder, self.history = crowd, folder, History()
        self.record = os.path.join(folder, "record")
        self.end = time.monotonic() + seconds
        self.lock, self.live = threading.Lock(), {}

    def member(self, group, number):
        say = open(os.path.join(self.folder, f"{group.name}{number}.err"), "ab")
        turn = 0
        while time.monotonic() < self.end:
            turn += 1
            run = Run(f"{group.name}{number}.{turn}", group, time.time_ns() // 1000)
            section = [os.environ["SECTION"], self.record, run.who, str(group.section_ms)]
            words = [os.environ["DLOCK"], "run", *group.words, "--", *section]
            process = subprocess.Popen(words if group.words else section, stderr=say,
                                       stdin=subprocess.DEVNULL, close_fds=False)
            run.pid = process.pid
            with self.lock:
                self.history.runs.append(run)
                self.live[run.pid] = run
            os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)
            with self.lock:  # until here the pid is its own, and it may be killed
                run.status = process.wait()
                del self.live[run.pid]
            time.sleep(random.uniform(0, group.pause_ms / 1000))

    def kill_one(self):
        """Kills a run; half of the time one whose section runs."""
        with open(self.record, encoding="ascii") as file:
            inside = {line.split()[0] for line in file}
        with self.lock:
            them = [run for run in self.live.values() if not run.killed]
            holders = [run for run in them if run.who in inside]
            if holders and random.random() < 0.5:
                them = holders
            if them:
                run = random.choice(them)
                run.killed = True
                os.kill(run.pid, signal.SIGKILL)

    def go(self):
        open(self.record, "x", encoding="ascii").close()
        observer = None
        if os.environ.get("REDIS_SOCKET"):
            observer = Observer(os.environ["REDIS_SOCKET"], self.crowd.names, self.history.looks)
            observer.start()
        began = time.monotonic()
        members = [threading.Thread(target=self.member, args=(group, number), daemon=True)
                   for group in self.crowd.groups for number in range(group.count)]
        random.shuffle(members)
        for member in members:
            member.start()
        while time.monotonic() < self.end:
            time.sleep(1 / self.crowd.kills_per_s if self.crowd.kills_per_s else 0.1)
            if self.crowd.kills_per_s:
                self.kill_one()
        for member in members:
            member.join(max(self.end + 60 - time.monotonic(), 0))
        self.history.took = time.monotonic() - began
        with self.lock:
            hanging = list(self.live.values())
        for run in hanging:
            run.status = "still there a minute later"
            os.kill(run.pid, signal.SIGKILL)
        if observer:
            observer.over = True
            observer.join(5)
        with open(self.record, encoding="ascii") as file:
            self.history.record = file.read()
        return self.history


def some(count):
    return count if os.environ.get("REDIS_SOCKET") else max(count // 5, 2)


def readers_and_writers(read, write, **more):
    groups = [Group("reader", some(50), 40, read), Group("writer", some(5), 15, write, 200)]
    return Crowd(groups, ["rw"], [modes_rules.readers_beside_readers, modes_rules.bounded_wait,
                                  modes_rules.growing_tokens], **more)


def slots(words, kills=2.0, count=60, **more):
    return Crowd([Group("slot", some(count), 60, words)], ["pool"],
                 [modes_rules.three_at_most, modes_rules.first_come, modes_rules.growing_tokens],
                 kills_per_s=kills, **more)


def pair_runs(first, second, singles=0, **more):
    alone = ["--ttl", "15s"]
    groups = [Group("pairab", some(10), 10, [*alone, *first]),
              Group("pairba", some(10), 10, [*alone, *second])]
    if singles:
        groups += [Group("onlya", some(singles), 10, [*alone, "a"], 50),
                   Group("onlyb", some(singles), 10, [*alone, "b"], 50)]
    return Crowd(groups, ["a", "b"], [modes_rules.never_half, modes_rules.alone_per_name,
                                      modes_rules.always_progress, modes_rules.growing_tokens],
                 **more)


def pool(words, others=(), rules=(modes_rules.none_starves,), **more):
    """Sixteen that want one of four names, whichever, and others beside them."""
    return Crowd([Group("pool", 16 - sum(one.count for one in others), 10, words), *others],
                 ["a", "b", "c", "d"],
                 [modes_rules.alone_per_name, modes_rules.one_each, modes_rules.all_used,
                  modes_rules.always_progress, modes_rules.growing_tokens, *rules], **more)


def plain(words, **more):
    return Crowd([Group("plain", 20, 10, words)], ["p"],
                 [modes_rules.alone_per_name, modes_rules.first_come, modes_rules.growing_tokens],
                 **more)


def one_by_one(first, second):
    """Takes two names one after the other, without --and: two such runs can deadlock."""
    return [first, "--", os.environ["DLOCK"], "run", "-w", "2", second]


THREE = ["--slots", "3", "--ttl", "4s", "pool"]
A_AND_B, B_AND_A = ["--and", "b", "a"], ["--and", "a", "b"]
ONE_OF_FOUR = ["--ttl", "15s", "--or", "b", "--or", "c", "--or", "d", "a"]
BESIDE_POOL = (Group("onlyb", 2, 10, ["--ttl", "15s", "b"], 50),
               Group("pairac", 2, 10, ["--ttl", "15s", "--and", "a", "c"], 50))
READ, WRITE = ["-s", "--ttl", "15s", "rw"], ["-x", "--ttl", "15s", "rw"]
CROWDS = {
    "readers-writers": lambda: readers_and_writers(READ, WRITE),
    "readers-plain": lambda: readers_and_writers(READ, ["--ttl", "15s", "rw"]),
    "slots": lambda: slots(THREE),
    "pairs": lambda: pair_runs(A_AND_B, B_AND_A),
    "pairs-singles": lambda: pair_runs(A_AND_B, B_AND_A, 3),
    "plain": lambda: plain(["--ttl", "15s", "p"]),
    "pool": lambda: pool(ONE_OF_FOUR),
    "pool-without-line": lambda: pool(ONE_OF_FOUR, rules=()),
    "pool-and-others": lambda: pool(ONE_OF_FOUR, BESIDE_POOL),
    # Wrong on purpose.
    "plain!": lambda: plain([]),
    "readers-writers!": lambda: readers_and_writers(READ, READ),
    "slots!": lambda: slots(["--slots", "4", "--ttl", "4s", "pool"]),
    "pool!": lambda: pool(["--ttl", "15s", "a"]),
    "pairs!": lambda: pair_runs(one_by_one("a", "b"), one_by_one("b", "a")),
}


def check(crowd, history):
    bad = [f"{run.who} ended with {run.status}" for run in history.runs
           if run.status != 0 and not (run.killed and run.status == -signal.SIGKILL)]
    sections = modes_rules.sections(history.record)
    figures = [f"{len(history.runs)} runs in {history.took:.0f} s, "
               f"{len(history.looks)} views of the store"]
    for rule in crowd.rules:
        rule(crowd, history, sections, bad, figures)
    for line in figures:
        print(f"# {line}")
    for line in bad[:20]:
        print(re.sub(r"[^ -~]", "?", line))
    if bad:
        sys.exit(f"{len(bad)} violations")


def main():
    name, seconds, folder = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    crowd = CROWDS[name]()
    check(crowd, Drive(crowd, seconds, folder).go())


main()
