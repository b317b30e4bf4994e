#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./dev bench: what a run, a crowd, a hand-off and a waiter cost, beside flock, redis-cli, etcdctl.

All candidates are measured in turns within one run, so that a busy machine slows all of them; read
the ratios, not the milliseconds. The whole of it ends within five minutes: what does not fit is
left out, and said. Writes JSON, and draws hand-offs against the number of waiters.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import tempfile
import time

import idle
import line
import single
from report import plot, report
from setting import Servers, candidates, make_stamp

MOST_SECONDS = 240  # no part is begun after that


class Amount:
    """How much of everything."""

    def __init__(self, quick):
        self.rounds = 20 if quick else 300
        self.crowds = 1 if quick else 3
        self.handoffs = 10 if quick else 200
        self.waiters = (4, 8) if quick else (10, 100, 500, 1000)
        self.window = 1 if quick else line.WINDOW
        self.seconds = 1 if quick else 5
        self.ttls = 1 if quick else 4


def version(*command):
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return said.splitlines()[0].strip() if said else "?"


def machine(dlock):
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        models = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    facts = {"kernel": platform.release(), "cpu": models[0] if models else platform.machine(),
             "cpus": os.cpu_count(), "load_before": round(os.getloadavg()[0], 2),
             "dlock": version(dlock, "--version"), "flock": version("flock", "--version"),
             "redis": " ".join(version("redis-server", "--version").split()[:3])}
    if shutil.which("etcdctl"):
        facts["etcd"] = version("etcd", "--version")
    return facts


def parts(found, servers, folder, amount):
    """name -> function that measures it, in the order of the table."""
    stamp = make_stamp(folder)
    remote = [one for one in found if one.name in ("dlock", "dlock, unix socket")]

    def waiters():
        return {count: line.many_waiters(remote[0], servers, stamp, folder, count, amount.window)
                for count in amount.waiters}

    return {
        "uncontended": lambda: single.uncontended(found, amount.rounds),
        "instructions": lambda: single.instructions(found),
        "contended": lambda: single.contended(found, amount.crowds),
        "handoff": lambda: line.one_waiter(found, stamp, folder, amount.handoffs),
        "waiters": waiters,
        "waiter": lambda: {one.name: idle.waiter(one, servers, amount.seconds) for one in found},
        "holder": lambda: {one.name: idle.holder(one, servers, amount.ttls) for one in remote},
    }


PARTS = ("uncontended", "instructions", "contended", "handoff", "waiters", "waiter", "holder")


def words():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="quick|PART",
                        help="quick: little of everything; only these parts: " + " ".join(PARTS))
    parser.add_argument("--dlock", default="build/release/dlock", help="the program to measure")
    parser.add_argument("--json", default="build/bench.json", help="where the figures go")
    parser.add_argument("--svg", default="build/bench.svg", help="where the plot goes")
    asked = parser.parse_args()
    for word in asked.words:
        if word not in PARTS + ("quick",):
            parser.error(f"there is no part {word}; there are {' '.join(PARTS)}")
    return asked


def main():
    asked = words()
    wanted = [word for word in asked.words if word != "quick"] or PARTS
    amount = Amount("quick" in asked.words)
    for name in [n for n in os.environ if n.startswith(("DLOCK_", "REDIS"))]:
        del os.environ[name]
    os.environ["ETCDCTL_API"] = "3"
    dlock = os.path.abspath(asked.dlock)
    begin, took = time.monotonic(), {}
    with tempfile.TemporaryDirectory(prefix="dlock-bench.") as folder:
        os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = folder
        result = {"machine": machine(dlock)}
        servers = Servers(folder)
        try:
            found = candidates(folder, servers, dlock)
            for name, measure in parts(found, servers, folder, amount).items():
                if name not in wanted:
                    continue
                if time.monotonic() - begin > MOST_SECONDS:
                    result.setdefault("left_out", []).append(name)
                    continue
                since = time.monotonic()
                result[name] = measure()
                took[name] = round(time.monotonic() - since, 1)
        finally:
            servers.stop()
    result["seconds"] = took
    report(result)
    with open(asked.json, "w", encoding="utf-8") as out:
        json.dump(result, out, indent=2)
        out.write("\n")
    print(f"written to {asked.json} after {time.monotonic() - begin:.0f} s")
    drawn = plot(result, asked.svg)
    if drawn:
        print(drawn)


if __name__ == "__main__":
    main()
