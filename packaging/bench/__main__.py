#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./dev bench: what runs, crowds, hand-offs, waiters and holders cost, beside flock and others.

Everything is measured in pairs within one run, so that a busy machine slows both; read the ratios,
not the milliseconds. All of it ends within a quarter of an hour: no part begins after that, and
what is left out is said. Most of the parts on stores and those on quorums have to be named; what is
named is measured, up to an hour. Writes JSON, which --compare reads, and draws hand-offs against the
number of waiters.
"""

import argparse
import contextlib
import functools
import json
import os
import shutil
import sys
import tempfile
import time

import capacity
import compare
import holders
import idle
import line
import network
import quorum
import scripts
import single
import store_faults
import store_fleet
import store_rest
import stores
from machine import Part, machine
from report import plot, plot_quorum, report
from setting import Servers, candidates, make_stamp
from store_servers import Stores

MOST_SECONDS = 720  # no part is begun after that, of those that nobody has named
MOST_SECONDS_NAMED = 3600


class Amount:
    """How much of everything."""

    def __init__(self, quick):
        self.rounds = 20 if quick else 300
        self.crowds = 2 if quick else 9
        self.handoffs = 2 if quick else 20
        self.waiters = (4, 8) if quick else (10, 100, 500, 1000)
        self.window = 1 if quick else line.WINDOW
        self.seconds = 1 if quick else 5
        self.blocks = 15 if quick else 60
        self.renewals = 2 if quick else 6
        self.holders = 50 if quick else 1000
        self.played = 100 if quick else 500
        self.fleet = 500 if quick else 5000
        self.at_rest = 3 if quick else 12
        self.processes = 20 if quick else 5000
        self.store_crowds = 0 if quick else 3
        self.line = 10 if quick else 100  # hand-offs in a line of a store
        self.store_seconds = 6 if quick else 30
        self.leases = (5,) if quick else (5, 10, 30)
        self.fault_ttl = 5 if quick else 10
        self.pairs = 1 if quick else 3
        self.crowd_sizes = (2, 10) if quick else (2, 10, 50, 200)
        self.crowd_turns = 10 if quick else 40


def parts(found, servers, on_stores, folder, amount):
    """name -> function that measures it, in the order of the table."""
    stamp = make_stamp(folder)
    flock = found[0]
    tcp, unix = (next(one for one in found if one.store == store)
                 for store in ("tcp", "unix socket"))

    def waiters():
        return {str(count): line.beside_flock(
            flock, stamp, folder, f"waiters-{count}", lambda count=count: line.many_waiters(
                tcp, servers, stamp, folder, count, amount.window)) for count in amount.waiters}

    @functools.cache  # two parts need them
    def costs():
        return capacity.costs(tcp, servers, folder, amount.played)

    return {
        "uncontended": lambda: single.uncontended(found, amount.rounds,
                                                  single.besides(found, folder)),
        "instructions": lambda: single.instructions(found),
        "contended": lambda: single.contended(found, amount.crowds),
        "handoff": lambda: line.one_waiter(found, stamp, folder, amount.handoffs),
        "waiters": waiters,
        "scripts": lambda: scripts.beside_redisson(tcp, servers, folder, amount.blocks),
        "commands": lambda: scripts.commands(tcp, servers),
        "waiter": lambda: {one.name: idle.waiter(one, servers, amount.seconds) for one in found},
        "holder": lambda: idle.holder(unix, servers, amount.renewals),
        "holders": lambda: holders.many(tcp, servers, amount.holders),
        "capacity": costs,
        "fleet": lambda: capacity.together(tcp, servers, folder, amount.fleet, amount.at_rest,
                                           costs()),
        "other": lambda: single.beside_other(found, f"{folder}/other", amount.rounds),
        "stores-other": lambda: single.beside_other(on_stores().rows, f"{folder}/other",
                                                    amount.rounds // 3),
        "stores-costs": lambda: stores.costs(on_stores(), stamp, folder, amount),
        "stores-lines": lambda: stores.lines(on_stores(), stamp, folder, amount),
        "stores-rest": lambda: store_rest.rest(on_stores(), amount),
        "stores-network": lambda: network.network(on_stores(), stamp, folder, amount),
        "stores-fleet": lambda: store_fleet.fleet(on_stores(), amount),
        "stores-crash": lambda: store_faults.crash(on_stores(), stamp, folder, amount),
        "stores-faults": lambda: store_faults.faults(on_stores(), folder, amount),
        "quorum-alone": lambda: quorum.alone(tcp.program, folder, amount),
        "quorum-crowds": lambda: quorum.crowds(tcp.program, stamp, folder, amount),
    }


PARTS = ("uncontended", "instructions", "contended", "handoff", "waiters", "scripts", "commands",
         "waiter", "holder", "holders", "capacity", "fleet", "stores-costs")
NAMED = ("stores-lines", "stores-rest", "stores-network", "stores-fleet", "stores-crash",
         "stores-faults", "quorum-alone", "quorum-crowds")
OTHER = ("other", "stores-other")  # these need --other
GROUPS = ("stores", "quorum")


def words():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="quick|PART",
                        help="quick: little of everything; only these parts: " + " ".join(PARTS)
                        + "; and these, which have to be named: " + " ".join(NAMED)
                        + f"; {' or '.join(GROUPS)}: all that begin so")
    parser.add_argument("--dlock", default="build/release/dlock", help="the program to measure")
    parser.add_argument("--other", metavar="DLOCK", help="another dlock, as of an earlier commit, "
                        "for the parts " + " and ".join(OTHER) + ": runs of both in turns")
    parser.add_argument("--json", default="build/bench.json", help="where the figures go")
    parser.add_argument("--svg", default="build/bench.svg", help="where the plot of waiters goes")
    parser.add_argument("--quorum-svg", default="build/quorum.svg",
                        help="where the plot of a quorum goes")
    parser.add_argument("--compare", metavar="FILE",
                        help="name every figure that became slower than in FILE, the figures of an "
                        "earlier run, by more than its spread; the exit status is then 1")
    parser.add_argument("--read", metavar="FILE",
                        help="measure nothing, show the figures of an earlier run")
    asked = parser.parse_args()
    for word in asked.words:
        if word not in (*PARTS, *NAMED, *OTHER, *GROUPS, "quick"):
            parser.error(f"there is no part {word}; there are {' '.join(PARTS + NAMED + OTHER)}")
        if word in OTHER and not asked.other:
            parser.error(f"{word} needs --other DLOCK")
    return asked


def measure(asked):
    wanted = [part for word in asked.words if word != "quick"
              for part in ([part for part in PARTS + NAMED if part.startswith(word + "-")]
                           if word in GROUPS else [word])]
    most = MOST_SECONDS_NAMED if wanted else MOST_SECONDS
    wanted = wanted or PARTS
    amount = Amount("quick" in asked.words)
    for name in [n for n in os.environ if n.startswith(("DLOCK_", "REDIS"))]:
        del os.environ[name]
    os.environ["ETCDCTL_API"] = "3"
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dlock-bench.") as folder:
        os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = folder
        # As it is installed: a copy. A linker writes a file in pieces, and of such a file the kernel
        # maps less at each page fault; that is a seventh of a run.
        dlock = shutil.copy(asked.dlock, os.path.join(folder, "dlock"))
        if asked.other:
            shutil.copy(asked.other, os.path.join(folder, "other"))
        result = {"machine": machine(dlock, folder), "parts": {}}
        with contextlib.ExitStack() as started:
            servers = started.enter_context(contextlib.closing(Servers(folder)))
            found = candidates(folder, servers, dlock)

            @functools.cache
            def on_stores():
                return started.enter_context(contextlib.closing(Stores(folder, dlock)))

            for name, part in parts(found, servers, on_stores, folder, amount).items():
                if name not in wanted:
                    continue
                if time.monotonic() - begin > most:
                    result.setdefault("left_out", []).append(name)
                    continue
                clock = Part()
                result[name] = part()
                result["parts"][name] = clock.end()
    with open(asked.json, "w", encoding="utf-8") as out:
        json.dump(result, out, indent=2)
        out.write("\n")
    print(f"written to {asked.json} after {time.monotonic() - begin:.0f} s")
    return result


def read(file):
    try:
        with open(file, encoding="utf-8") as text:
            return json.load(text)
    except OSError as error:
        raise SystemExit(f"bench: cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        raise SystemExit(f"bench: {file} is no result of a benchmark: {error}") from error


def main():
    asked = words()
    before = read(asked.compare) if asked.compare else None  # first: --json may be the same file
    result = read(asked.read) if asked.read else measure(asked)
    report(result)
    for draw, file in () if asked.read else ((plot, asked.svg), (plot_quorum, asked.quorum_svg)):
        if drawn := draw(result, file):
            print(drawn)
    return 1 if before and compare.say(result, before, asked.compare) else 0


if __name__ == "__main__":
    sys.exit(main())
