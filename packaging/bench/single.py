# SPDX-License-Identifier: MIT
"""What one run costs when no other process wants the lock, and what a crowd gets done; each beside
a run under flock that was measured directly before."""

import os
import re
import shutil
import subprocess
import time

from figures import figure, ratio
from setting import end, quiet

WORKERS, RUNS = 16, 20
LIMIT = 60  # seconds, for one crowd; more is a failure
WARM_UP = 3  # pairs that are not counted


def run_once(command, environment, stdout="/dev/null"):
    """Milliseconds it took, and milliseconds of processor time, with what it waited for."""
    null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    out = os.open(stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    files = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, out, 1)]
    try:
        begin = time.perf_counter_ns()
        pid = os.posix_spawnp(command[0], command, environment, file_actions=files)
        _, status, used = os.wait4(pid, 0)
        took = (time.perf_counter_ns() - begin) / 1e6
    finally:
        os.close(null)
        os.close(out)
    if status != 0:
        raise SystemExit(f"bench: {' '.join(command)}: status {os.waitstatus_to_exitcode(status)}")
    return took, (used.ru_utime + used.ru_stime) * 1e3


def steps(one, folder):
    """name -> one `dlock acquire`, and the `dlock release` of what it has taken."""
    said = f"{folder}/acquired"

    def release():
        with open(said, encoding="utf-8") as lines:
            owner = re.search(r"DLOCK_OWNER='?([^'\s]+)", lines.read())[1]
        return run_once([one.program, "release", "--owner", owner, "steps"], one.environment)

    return {"dlock acquire": lambda: run_once([one.program, "acquire", "steps"], one.environment,
                                              said),
            "dlock release": release}


def in_pairs(base, others, rounds):
    """name -> [(base, other), …], each two measured one after the other."""
    pairs = {name: [] for name in others}
    for round_ in range(rounds + WARM_UP):
        for name, run in others.items():
            pair = base(), run()
            if round_ >= WARM_UP:
                pairs[name].append(pair)
    return pairs


def besides(found, folder):
    """name -> what else is measured: no lock at all, and dlock's other commands."""
    return {"true": lambda: run_once(["true"], dict(os.environ)),
            **steps(next(one for one in found if one.store == "unix socket"), folder)}


def uncontended(found, rounds, more=None):
    def runs(one):
        return lambda: run_once(one.command("alone", "true"), one.environment)

    others = {one.name: runs(one) for one in found}
    base = others.pop("flock")
    light = {one.name: others.pop(one.name) for one in found if one.store}
    light.update(more or {})
    pairs = in_pairs(base, light, rounds)
    # Large programs leave the caches of the processor full: apart, and flock once for nothing.
    pairs.update(in_pairs(lambda: (base(), base())[1], others, max(2, rounds // 10)))
    firsts = [first for name in light for first, _ in pairs[name]]
    result = {"flock": {"ms": figure([wall for wall, _ in firsts]),
                        "cpu_ms": figure([cpu for _, cpu in firsts])}}
    for name, both in pairs.items():
        result[name] = {"ms": figure([wall for _, (wall, _) in both]),
                        "x_flock": ratio([(a[0], b[0]) for a, b in both]),
                        "cpu_ms": figure([cpu for _, (_, cpu) in both]),
                        "cpu_x_flock": ratio([(a[1], b[1]) for a, b in both])}
    return result


def beside_other(found, program, rounds):
    """One run of `program`, another dlock, and one of this dlock in turns, in each store. Which of
    them is first changes each time."""
    result = {}
    for one in found:
        if not one.store:
            continue
        words = one.command("alone", "true")
        pair = ([program] + words[1:], words)
        times = []
        for round_ in range(rounds + WARM_UP):
            order = (0, 1) if round_ % 2 == 0 else (1, 0)
            took = {i: run_once(pair[i], one.environment)[0] for i in order}
            if round_ >= WARM_UP:
                times.append((took[0], took[1]))
        result[one.name] = {"other_ms": figure([other for other, _ in times]),
                            "ms": figure([ours for _, ours in times]), "x_other": ratio(times)}
    return result


def instructions(found):
    """What one run of each executes in user mode, by callgrind: the same on every machine with
    these libraries, busy or not. Without the command, and without the kernel."""
    if not shutil.which("valgrind"):
        return {"valgrind": {"failed": "is not installed"}}
    result = {}
    for one in found:
        if one.name != "flock" and not one.store:
            continue
        # As little environment as possible: its size is a part of the count.
        environment = {name: value for name, value in one.environment.items()
                       if name in ("PATH", "HOME") or name.startswith("DLOCK_")}
        # Uncounted: the first run may have to load its scripts into the server.
        subprocess.run(one.command("alone", "true"), env=environment, check=True)
        tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        said = subprocess.run(tool + one.command("alone", "true"), env=environment,
                              capture_output=True, text=True, check=False).stderr
        counts = [int(n) for n in re.findall(r"Collected\s*:\s*(\d+)", said)]
        result[one.name] = {"instructions": figure([max(counts)])} if counts else {
            "failed": "no count"}
    return result


def crowd(one, lock):
    """Seconds that the workers take for all their runs of true under one lock."""
    loop = 'i=0; while [ $i -lt "$0" ]; do "$@" || exit 1; i=$((i + 1)); done'
    command = ["sh", "-c", loop, str(RUNS)] + one.command(lock, "true")
    begin = time.monotonic()
    workers = [quiet(command, one.environment) for _ in range(WORKERS)]
    try:
        statuses = [worker.wait(max(0.1, begin + LIMIT - time.monotonic())) for worker in workers]
    except subprocess.TimeoutExpired:
        end(workers)
        return None
    return time.monotonic() - begin if not any(statuses) else None


def contended(found, rounds):
    flock, others = found[0], found[1:]
    times = {one.name: [] for one in others}
    for round_ in range(rounds):
        for one in others:
            if one.store or round_ == 0 and rounds > 2:  # of the slow ones once is enough
                times[one.name].append((crowd(flock, f"crowd{round_}"),
                                        crowd(one, f"crowd{round_}")))
    result = {}
    for name, pairs in times.items():
        if not pairs:
            continue
        if any(None in pair for pair in pairs):
            result[name] = {"failed": f"a worker failed, or {LIMIT} s were not enough"}
            continue
        result[name] = {"runs_per_s": figure([WORKERS * RUNS / b for _, b in pairs], more=True),
                        "x_flock": ratio([(b, a) for a, b in pairs], more=True)}
    bases = [a for pairs in times.values() for a, _ in pairs if a]
    rates = figure([WORKERS * RUNS / a for a in bases], more=True)
    return {"flock": {"runs_per_s": rates}, **result}
