# SPDX-License-Identifier: MIT
"""A game: the operations of a seed in a new world until somebody complains, and as few of them as
show the same complaint."""
import time

import claims
import others
from player import Player
from state import Complaint
from world import World

OPERATIONS = {
    "acquire": claims.acquire, "renew": claims.renew, "release": claims.release,
    "leave": claims.leave, "kill": claims.kill, "revoke": others.revoke,
    "inspect": others.inspect, "redisson": others.redisson, "pass": others.let_pass,
    "end": others.end,
}
STEPS = 300
SHRINKING = 15  # s at most


class Game:
    """One seed: what was done, and what was wrong, or None."""

    def __init__(self, scripts, seed, steps=STEPS):
        self.java = ("none", "none", "pair", "lock")[seed % 4]
        self.ops, self.complaint = [], None
        player, world = Player(seed, self.java), World(scripts)
        try:
            for _ in range(steps):
                self.do(world, player.next(world))
            self.do(world, ["end", ["exclusive", "write", "shared", "slots"]])
        except Complaint as complaint:
            self.complaint = complaint

    def do(self, world, op):
        self.ops.append(op)
        OPERATIONS[op[0]](world, *op[1:])


def replay(scripts, ops):
    """The complaint that these operations lead to, and after how many of them."""
    world = World(scripts)
    for i, op in enumerate(ops):
        try:
            OPERATIONS[op[0]](world, *op[1:])
        except Complaint as complaint:
            return complaint, i + 1
    return None, len(ops)


def shrink(scripts, ops, kind):
    size, end = max(len(ops) // 2, 1), time.monotonic() + SHRINKING
    while True:
        i, smaller = 0, False
        while i < len(ops) and time.monotonic() < end:
            rest = ops[:i] + ops[i + size:]
            complaint, used = replay(scripts, rest)
            if complaint and complaint.kind == kind:
                ops, smaller = rest[:used], True
            else:
                i += size
        if size == 1 and not smaller or time.monotonic() >= end:
            return ops
        size = max(size // 2, 1)
