#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The chaos run: many clients, one lock server, a nemesis, and a history that is checked.

    main.py [SEED] [MINUTES] [--class G|B|U] [--seconds N] [--only-kinds A,B] [--clients N]
            [--ways plain,pair,slots,names] [--dlock PATH] [--judge G|B] [--folder DIR]

Class G: faults under which dlock promises exclusion. B: the store forgets; bounds are kept. U: what
nobody can survive; the run passes if the checks complain. MINUTES are cut into rounds, each with a
seed and a number of clients of its own; --seconds is one round. The same words draw the same faults
and sections. Ends with 1 if an invariant is violated; the last line is "N passed, N failed", one
for each invariant and round, the line before it names those that were violated."""
import argparse
import os
import random
import shutil
import signal
import sys
import tempfile

import report
from bench import Bench, Plan
from checks import check

ROUND = 30  # s
EXPECTED = {"I1", "I4", "I5", "I8", "I10", "I11", "I13", "I17", "I18", "I19"}  # of class U


def options(words):
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__.split("\n")[0])
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("minutes", nargs="?", type=float, default=1)
    parser.add_argument("--class", dest="kind", choices="GBU", default="G")
    parser.add_argument("--judge", choices="GB", help="the invariants of another class")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--clients", type=int, default=0)
    parser.add_argument("--only-kinds", default="")
    parser.add_argument("--ways", default="", help="plain,pair,slots,names; else of the seed")
    parser.add_argument("--dlock", default=os.environ.get("DLOCK", "build/dev/dlock"))
    parser.add_argument("--folder", help="where the recording stays")
    return parser.parse_args(words)


def one_run(given, seed=None, seconds=None, clients=None):
    """The history of one run, with its violations."""
    seed = seed if seed is not None else given.seed
    folder = given.folder or tempfile.mkdtemp(prefix="dlock-chaos-")
    os.makedirs(folder, exist_ok=True)
    plan = Plan(seed, seconds or given.seconds, given.kind, [os.path.abspath(given.dlock)], folder,
                tuple(k for k in given.only_kinds.split(",") if k), clients or given.clients,
                [way for way in given.ways.split(",") if way])
    print(f"chaos: --class {plan.kind} --clients {plan.clients} --ways {','.join(plan.ways)} "
          f"--seconds {plan.seconds:g} {seed}", flush=True)
    history = Bench(plan).run()
    history.kind = given.judge or ("G" if plan.kind == "U" else plan.kind)
    return plan, history, check(history)


def rounds(given):
    """(seed, seconds, clients): half a minute each; every third with two clients only, since a
    client that comes back at once meets what is left of itself."""
    if given.seconds:
        return [(given.seed, given.seconds, given.clients)]
    count = max(1, round(given.minutes * 60 / ROUND))
    return [(given.seed + i, given.minutes * 60 / count, given.clients or (2 if i % 3 == 1 else 0))
            for i in range(count)]


def main(words):
    given = options(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended first
    if given.seed is None:
        given.seed = random.SystemRandom().randrange(1, 10**6)
    passed = failed = 0
    fired, all_figures = set(), []
    for seed, seconds, clients in rounds(given):
        plan, history, found = one_run(given, seed, seconds, clients)
        all_figures.append(report.figures(history))
        report.summary(all_figures[-1], f"{plan.clients} clients, {len(plan.locks)} locks")
        good, bad = judge(given, plan, history, found)
        fired |= {rule for rule, list_ in found.items() if list_}
        passed, failed = passed + good, failed + bad
    if len(all_figures) > 1:
        report.summary(sum(all_figures[1:], all_figures[0]), f"all {len(all_figures)} rounds")
    if fired:
        print(f"violated{', as expected' if given.kind == 'U' else ''}: "
              f"{' '.join(sorted(fired, key=lambda r: int(r[1:])))}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def judge(given, plan, history, found):
    """How many of its tests passed and failed."""
    broken = {rule for rule, list_ in found.items() if list_}
    if plan.kind == "U":
        for rule in broken:
            print(f"  {rule}, {len(found[rule])} times: {found[rule][0]}")
        fine = bool(broken & {"I1", "I4", "I17", "I18", "I19"}) and broken <= EXPECTED
        if not broken:
            print("  nothing was violated, and that is wrong: the checks are blind")
        result = (1, 0) if fine else (0, 1)
    else:
        report.violations(history, found)
        result = len(found) - len(broken), len(broken)
    if result[1]:
        print(f"  the recording is in {plan.folder}")
    elif not given.folder:
        shutil.rmtree(plan.folder)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
