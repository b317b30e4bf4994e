#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Positive controls: controls.py [ID…]: scripts that are wrong, by mutants of tests/mutants, which
have to be found, and the right ones, which the same seeds must not accuse. A test that never saw
red proves nothing."""
import os
import shutil
import signal
import sys
import tempfile

from main import HERE, SCRIPTS
from play import Game
from server import Scripts, Server, connect

MUTANTS = os.path.join(HERE, "..", "mutants")
sys.path.append(MUTANTS)
import mutation  # noqa: E402

# Which mutants, and in which seed to begin: the first that finds it where the machine has time.
CONTROLS = {"W03a": 1, "W04": 1, "W05": 1, "R05": 2, "R08": 2, "R09": 27, "R10": 18, "R23": 2,
            "R27": 2, "R28": 5, "R30": 1, "R34": 7, "R36": 8, "R37": 14, "R38": 14, "R49": 1,
            "R56": 13, "R57": 14, "R59": 28}
MOST = 200  # seeds


def broken(folder, mutant):
    """A copy of the scripts with this mutant."""
    root = os.path.join(folder, mutant.name)
    copy = os.path.join(root, "src", "store", "redis", "scripts")
    shutil.copytree(SCRIPTS, copy)
    mutation.apply(root, mutant)
    return copy


def complaint_of(scripts, seeds):
    """The first complaint in these seeds, and in which, or None and how many they were."""
    for seed in seeds:
        complaint = Game(scripts, seed).complaint
        if complaint:
            return complaint, seed
    return None, len(seeds)


def run(path, folder, names):
    connection, failed, red = connect(path), 0, set()
    mutants = mutation.load(MUTANTS)
    for name in names:
        scripts = Scripts(connection, broken(folder, mutants[name]))
        first = CONTROLS.get(name, 1)
        complaint, seed = complaint_of(scripts, range(first, first + MOST))
        failed += not complaint
        red |= {seed} if complaint else set()
        kind = f"{complaint.kind} in seed {seed}" if complaint else f"nothing in {MOST} seeds"
        print(f"{'red' if complaint else 'NOT RED'}: {mutants[name].title}: {kind}", flush=True)
    complaint, seed = complaint_of(Scripts(connection, SCRIPTS), sorted(red))
    failed += complaint is not None
    print(f"ACCUSED: the scripts as they are: seed {seed}: {complaint}" if complaint else
          f"cleared: the scripts as they are, by the same {len(red)} seeds")
    connection.close()
    print(f"{len(names) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


def main(names):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Server() as server, tempfile.TemporaryDirectory(prefix="dlock-scripts-") as folder:
        return run(server.path, folder, names or list(CONTROLS))


sys.exit(main(sys.argv[1:]))
