#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Positive controls: runs in which something is wrong, and the checks have to say so. A checker
that never saw red proves nothing. Each is so long that what it has to show happens several times,
as a machine that is late hides some of it, and takes half a minute at most."""
import os
import shutil
import signal
import sys

from main import one_run, options

NAIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "naive.py")
# Most sections of class U are longer than a lease, which a wrapper does not renew. A network that
# fails would hinder it to begin some.
WRAPPER = ["--dlock", NAIVE, "--class", "U", "--only-kinds", "both-kill"]
CONTROLS = [
    # what is wrong, the words of the run, what has to be found
    ("a wrapper of SET NX and DEL", ["31", *WRAPPER], {"I1", "I7", "I11"}),
    ("the same for readers and slots", ["38", *WRAPPER, "--ways", "pair,slots", "--clients", "8"],
     {"I7", "I17", "I18"}),
    ("the same for several names", ["39", *WRAPPER, "--ways", "names", "--clients", "6"],
     {"I7", "I19"}),
    ("a wrapper with a token by INCR, when the store forgets",
     ["32", "--dlock", NAIVE, "--class", "B", "--only-kinds", "flushall"], {"I2", "I7"}),
    ("dlock and its guard killed together", ["33", "--class", "U", "--only-kinds", "both-kill",
                                              "--seconds", "30"], {"I1", "I8"}),
    ("dlock and its guard stopped together", ["34", "--class", "U", "--only-kinds", "both-stop",
                                               "--seconds", "24", "--clients", "6"], {"I1", "I4"}),
    ("--on-lost warn, and no network",
     ["35", "--class", "U", "--only-kinds", "blackhole", "--seconds", "24"], {"I4"}),
    ("a store that forgets, judged as if it did not",
     ["36", "--class", "B", "--judge", "G", "--only-kinds", "flushall,del"], {"I1", "I5"}),
    ("a server clock that leaps, judged as if it did not",
     ["37", "--class", "B", "--judge", "G", "--only-kinds", "clock-forward"], {"I1", "I5"}),
]


def main():
    failed = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for what, words, wanted in CONTROLS:
        given = options(["--ways", "plain", "--seconds", "12", "--clients", "4", *words])
        plan, _, found = one_run(given)
        shutil.rmtree(plan.folder)
        broken = {rule for rule, violations in found.items() if violations}
        fine = wanted <= broken
        failed += not fine
        print(f"{'red' if fine else 'NOT RED'}: {what}: {' '.join(sorted(broken)) or 'nothing'}"
              + ("" if fine else f"; without {' '.join(sorted(wanted - broken))}"), flush=True)
    print(f"{len(CONTROLS) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
