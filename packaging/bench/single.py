# SPDX-License-Identifier: MIT
"""What one run costs when nobody else wants the lock, and what a crowd gets done."""

import os
import random
import re
import shutil
import statistics
import subprocess
import time

from setting import end, quiet

WORKERS, RUNS = 16, 20
LIMIT = 60  # seconds, for one crowd; more is a failure


def run_once(command, environment):
    """Milliseconds it took, and milliseconds of processor time, with what it waited for."""
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    files = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1)]
    try:
        begin = time.perf_counter_ns()
        pid = os.posix_spawnp(command[0], command, environment, file_actions=files)
        _, status, used = os.wait4(pid, 0)
        took = (time.perf_counter_ns() - begin) / 1e6
    finally:
        os.close(null)
    if status != 0:
        raise SystemExit(f"bench: {' '.join(command)}: status {os.waitstatus_to_exitcode(status)}")
    return took, (used.ru_utime + used.ru_stime) * 1e3


def uncontended(found, rounds):
    commands = {"true": (["true"], dict(os.environ))}
    commands.update({one.name: (one.command("alone", "true"), one.environment) for one in found})
    times = {name: [] for name in commands}
    light = [name for name in commands if name == "true" or "lock" in name and "etcd" not in name]
    for round_ in range(rounds + 3):  # three to warm up
        # In no fixed order: what runs behind a large program finds the caches of the processor full
        # of that. So the large ones run in every fifth round only.
        names = list(commands) if round_ % 5 == 0 else list(light)
        random.Random(round_).shuffle(names)
        for name in names:
            took = run_once(*commands[name])
            if round_ >= 3:
                times[name].append(took)
    result = {}
    for name, both in times.items():
        wall, cpu = zip(*both)
        tenths = statistics.quantiles(wall, n=10)
        result[name] = {"median_ms": statistics.median(wall), "p10_ms": tenths[0],
                        "p90_ms": tenths[8], "cpu_ms": statistics.fmean(cpu)}
    for values in result.values():
        values["x_flock"] = values["median_ms"] / result["flock"]["median_ms"]
        values["cpu_x_flock"] = values["cpu_ms"] / result["flock"]["cpu_ms"]
    return result


def instructions(found):
    """What one run of each executes in user mode, by callgrind: the same on every machine with
    these libraries, busy or not. Without the command, and without the kernel."""
    if not shutil.which("valgrind"):
        return {"failed": "valgrind is not installed"}
    result = {}
    for one in found:
        if one.name not in ("flock", "dlock", "dlock, unix socket"):
            continue
        # As little environment as possible: its size is a part of the count.
        environment = {name: value for name, value in one.environment.items()
                       if name in ("PATH", "HOME") or name.startswith("DLOCK_")}
        tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        said = subprocess.run(tool + one.command("alone", "true"), env=environment,
                              capture_output=True, text=True, check=False).stderr
        counts = [int(n) for n in re.findall(r"Collected\s*:\s*(\d+)", said)]
        result[one.name] = max(counts) if counts else None
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
    times = {one.name: [] for one in found}
    for round_ in range(rounds):
        for one in found:
            times[one.name].append(crowd(one, f"crowd{round_}"))
    result = {}
    for name, seconds in times.items():
        if None in seconds:
            result[name] = {"failed": f"a worker failed, or {LIMIT} s were not enough"}
            continue
        median = statistics.median(seconds)
        result[name] = {"seconds": median, "runs_per_s": WORKERS * RUNS / median}
    base = result["flock"].get("runs_per_s")
    for values in result.values():
        if base and "runs_per_s" in values:
            values["x_flock"] = values["runs_per_s"] / base
    return result
