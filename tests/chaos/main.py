#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The chaos run: many clients, one lock server, a nemesis, and a history that is checked.

    main.py [SEED] [MINUTES] [--class G|B|U] [--seconds N] [--only-kinds A,B] [--clients N]
            [--dlock PATH] [--judge G|B] [--folder DIR]

Class G: faults under which dlock promises exclusion. B: the store forgets; bounds are kept. U: what
nobody can survive; the run passes if the checks complain. Ends with 1 if an invariant is violated;
the last line is "N passed, N failed", one for each invariant."""
import argparse
import os
import random
import shutil
import sys
import tempfile

import report
from bench import Bench, Plan
from checks import check

EXPECTED = {"I1", "I4", "I5", "I8", "I10", "I11", "I13"}  # of class U


def options(words):
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__.split("\n")[0])
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("minutes", nargs="?", type=float, default=1)
    parser.add_argument("--class", dest="kind", choices="GBU", default="G")
    parser.add_argument("--judge", choices="GB", help="the invariants of another class")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--clients", type=int, default=0)
    parser.add_argument("--only-kinds", default="")
    parser.add_argument("--dlock", default=os.environ.get("DLOCK", "build/dev/dlock"))
    parser.add_argument("--folder", help="where the recording stays")
    return parser.parse_args(words)


def one_run(given):
    """The history of one run, with its violations."""
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1, 10**6)
    folder = given.folder or tempfile.mkdtemp(prefix="dlock-chaos-")
    os.makedirs(folder, exist_ok=True)
    plan = Plan(seed, given.seconds or given.minutes * 60, given.kind,
                [os.path.abspath(given.dlock)], folder,
                tuple(k for k in given.only_kinds.split(",") if k), given.clients)
    print(f"chaos: seed {seed}, class {plan.kind}, {plan.seconds:g} s, {plan.dlock[0]}", flush=True)
    history = Bench(plan).run()
    history.kind = given.judge or ("G" if plan.kind == "U" else plan.kind)
    return plan, history, check(history)


def main(words):
    given = options(words)
    plan, history, found = one_run(given)
    report.summary(history, plan)
    broken = [rule for rule, list_ in found.items() if list_]
    if plan.kind == "U":
        return judge_expected(given, plan, found, broken)
    report.violations(history, found)
    if broken:
        print(f"violated: {' '.join(broken)}  (seed {plan.seed}; the recording is in {plan.folder})")
    elif not given.folder:
        shutil.rmtree(plan.folder)
    print(f"{len(found) - len(broken)} passed, {len(broken)} failed")
    return 1 if broken else 0


def judge_expected(given, plan, found, broken):
    for rule in broken:
        print(f"  {rule}: {len(found[rule])}, the first: {found[rule][0]}")
    if not given.folder:
        shutil.rmtree(plan.folder)
    print(f"violated, as expected: {' '.join(broken) or 'nothing, and that is wrong'}")
    fine = bool(set(broken) & {"I1", "I4"}) and set(broken) <= EXPECTED
    print("1 passed, 0 failed" if fine else "0 passed, 1 failed")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
