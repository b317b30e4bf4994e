# SPDX-License-Identifier: MIT
"""The machine under a benchmark: what it is, and how much of it was there to measure with."""

import glob
import os
import platform
import shutil
import statistics
import subprocess
import time


def version(*command):
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return said.splitlines()[0].strip() if said else "?"


def flush_ms(folder):
    """What a write of 4 KiB costs until the disk has it."""
    took = []
    with open(f"{folder}/flushed", "wb", buffering=0) as file:
        for _ in range(50):
            file.write(bytes(4096))
            begin = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append((time.perf_counter() - begin) * 1e3)
    return round(statistics.median(took), 2)


def machine(dlock, folder):
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        models = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    facts = {"kernel": platform.release(), "cpu": models[0] if models else platform.machine(),
             "cpus": os.cpu_count(), "load_before": round(os.getloadavg()[0], 2),
             "dlock": version(dlock, "--version"), "flock": version("flock", "--version"),
             "redis": " ".join(version("redis-server", "--version").split()[:3])}
    for name in ("etcd", "psql", "mariadbd"):
        if shutil.which(name):
            facts[name] = version(name, "--version")
    for jar in glob.glob("/usr/share/java/zookeeper-[0-9]*.jar"):
        facts["zookeeper"] = os.path.basename(jar)
    return {**facts, "flush_ms": flush_ms(folder)}


def processor_times():
    """Of all processors since boot: all ticks, idle ones, and those that the host has taken."""
    with open("/proc/stat", encoding="ascii") as f:
        ticks = [int(n) for n in f.readline().split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4], ticks[7]


class Part:
    """How long a part took, and what the machine had for it: the share of the processors' time
    that the host took away (stolen), and that in which they had nothing to do (idle)."""

    def __init__(self):
        self.began, self.ticks = time.monotonic(), processor_times()

    def end(self):
        every, idle, stolen = (b - a for a, b in zip(self.ticks, processor_times()))
        return {"seconds": round(time.monotonic() - self.began, 1),
                "stolen_percent": round(100 * stolen / max(1, every), 2),
                "idle_percent": round(100 * idle / max(1, every), 1)}


def server_ms(pid):
    """Processor time of the main thread of a process so far (schedstat: nanoseconds), in ms."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0]) / 1e6


def pss_kib(pid):
    """Memory of a process, with its share of what others map as well."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Pss:"))
