#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The scripts of the Redis store against a model: random operations, the real scripts.

    main.py [SEED [RUNS]] [--steps N] [--scripts FOLDER] [--socket PATH] [--stalls] [--replay FILE]

Each seed is a game of its own: claims ask, renew and give back as dlock would, die, are revoked;
requests lose their answer or come once more, late; time passes. What the scripts answer and leave
behind is compared with who was granted what, and until when. A seed that fails prints as few of its
operations as show the same complaint; --replay plays such lines, where the scripts must answer all.
--socket names a server whose data may go; else one is started. --stalls has that one stand still
now and then, which must not make a difference. The last line is "N passed, N failed", one each
seed."""
import argparse
import json
import os
import signal
import sys
import time

from play import STEPS, Game, replay, shrink
from server import Scripts, Server, connect

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "..", "..", "src", "store", "redis", "scripts")


def options(words):
    parser = argparse.ArgumentParser(prog="scripts", description=__doc__.split("\n")[0])
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("runs", nargs="?", type=int, default=100)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--scripts", default=SCRIPTS)
    parser.add_argument("--socket")
    parser.add_argument("--stalls", action="store_true")
    parser.add_argument("--replay", help="a file of operations, one a line")
    return parser.parse_args(words)


def play(scripts, given):
    """How many games went well, and how many did not."""
    passed = failed = steps = 0
    since = time.monotonic()
    for seed in range(given.seed, given.seed + given.runs):
        game = Game(scripts, seed, given.steps)
        steps += len(game.ops)
        if not game.complaint:
            passed += 1
            continue
        failed += 1
        print(f"seed {seed} (Redisson: {game.java}), step {len(game.ops)}: {game.complaint}")
        for op in shrink(scripts, game.ops, game.complaint.kind) if failed <= 3 else ():
            print("  " + json.dumps(op))
        sys.stdout.flush()
    print(f"{given.runs} seeds, {steps} steps in {time.monotonic() - since:.0f} s")
    return passed, failed


def play_again(scripts, file):
    with open(file, encoding="utf-8") as lines:
        complaint, used = replay(scripts, [json.loads(line) for line in lines])
    print(f"{used} operations: {complaint or 'no complaint'}")
    return (0, 1) if complaint else (1, 0)


def run(path, given):
    connection = connect(path)
    scripts = Scripts(connection, given.scripts)
    passed, failed = play_again(scripts, given.replay) if given.replay else play(scripts, given)
    connection.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def main(words):
    given = options(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended first
    if given.socket:
        return run(given.socket, given)
    with Server(given.stalls) as server:
        return run(server.path, given)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
