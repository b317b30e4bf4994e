#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./dev bench: what a run, a crowd and a waiter cost, beside flock, redis-cli and etcdctl.

All candidates are measured in turns within one run, so that a busy machine slows all of them; read
the ratios, not the milliseconds. Servers are private (free ports of the loopback, folders of their
own) and ended by their pid. Writes build/bench.json.
"""

import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

QUICK = sys.argv[1:] == ["quick"]
ROUNDS = 60 if QUICK else 300
CROWD_ROUNDS = 1 if QUICK else 3
WORKERS, RUNS = 16, 20
LIMIT = 180  # seconds, for one crowd; more is a failure

# What people write by hand: SET NX PX, run, compare and delete; it polls every 100 ms.
WRAPPER = """#!/bin/bash
key=$1; shift
token=$$-$RANDOM$RANDOM$RANDOM
until [ "$(redis-cli -p {port} SET "$key" "$token" NX PX 30000)" = OK ]; do sleep 0.1; done
"$@"
status=$?
redis-cli -p {port} EVAL "if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1]) else return 0 end" 1 "$key" "$token" >/dev/null
exit $status
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(port):
    with socket.socket() as s:
        s.settimeout(0.2)
        return s.connect_ex(("127.0.0.1", port)) == 0


class Servers:
    """redis-server always, etcd where it is installed; both on the loopback."""

    def __init__(self, folder):
        self.started = []
        self.redis = free_port()
        self.start(self.redis, ["redis-server", "--port", str(self.redis), "--bind", "127.0.0.1",
                                "--unixsocket", f"{folder}/redis.sock",
                                "--save", "", "--appendonly", "no", "--dir", folder])
        self.etcd = None
        if shutil.which("etcd") and shutil.which("etcdctl"):
            self.etcd, peer = free_port(), free_port()
            url, peer_url = (f"http://127.0.0.1:{port}" for port in (self.etcd, peer))
            self.start(self.etcd, [
                "etcd", "--data-dir", f"{folder}/etcd", "--listen-client-urls", url,
                "--advertise-client-urls", url, "--listen-peer-urls", peer_url,
                "--initial-advertise-peer-urls", peer_url,
                "--initial-cluster", f"default={peer_url}"])

    def start(self, port, command):
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.started.append(server)
        end = time.monotonic() + 20
        while not answers(port):
            if server.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"bench: {command[0]} did not start")
            time.sleep(0.05)
        time.sleep(0.5)

    def stop(self):
        for server in self.started:
            server.terminate()
            server.wait()


def candidates(folder, servers):
    """name -> function from the name of a lock to the words before the command."""
    dlock = os.path.abspath("build/release/dlock")
    wrapper = f"{folder}/wrapper"
    with open(wrapper, "w", encoding="utf-8") as script:
        script.write(WRAPPER.format(port=servers.redis))
    os.chmod(wrapper, 0o755)
    os.mkdir(f"{folder}/locks")
    url = f"redis://127.0.0.1:{servers.redis}"
    found = {
        "flock": lambda lock: ["flock", f"{folder}/{lock}"],
        "dlock": lambda lock: [dlock, "--url", url, "-q", "run", lock, "--"],
        "dlock, unix socket": lambda lock: [dlock, "--url", f"redis+unix://{folder}/redis.sock",
                                            "-q", "run", lock, "--"],
        "dlock local://": lambda lock: [dlock, "--url", f"local://{folder}/locks", "-q", "run",
                                        lock, "--"],
        "redis-cli wrapper": lambda lock: [wrapper, lock],
    }
    if servers.etcd:
        found["etcdctl lock"] = lambda lock: ["etcdctl", "--endpoints",
                                              f"127.0.0.1:{servers.etcd}", "lock", lock]
    return found


def spawn(command):
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    files = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1)]
    try:
        return os.posix_spawnp(command[0], command, os.environ, file_actions=files)
    finally:
        os.close(null)


def run_once(command):
    begin = time.perf_counter_ns()
    _, status = os.waitpid(spawn(command), 0)
    took = (time.perf_counter_ns() - begin) / 1e6
    if status != 0:
        raise SystemExit(f"bench: {' '.join(command)}: status {os.waitstatus_to_exitcode(status)}")
    return took


def uncontended(found):
    commands = {"true": ["true"]}
    commands.update({name: prefix("alone") + ["true"] for name, prefix in found.items()})
    times = {name: [] for name in commands}
    for round_ in range(ROUNDS + 3):  # three to warm up
        for name, command in commands.items():
            took = run_once(command)
            if round_ >= 3:
                times[name].append(took)
    return {name: {"median_ms": statistics.median(t), "p90_ms": statistics.quantiles(t, n=10)[8]}
            for name, t in times.items()}


def crowd(prefix, lock):
    """Seconds that 16 workers with 20 runs each of true take under one lock."""
    loop = 'i=0; while [ $i -lt "$0" ]; do "$@" || exit 1; i=$((i + 1)); done'
    command = ["sh", "-c", loop, str(RUNS)] + prefix(lock) + ["true"]
    begin = time.monotonic()
    null = subprocess.DEVNULL
    workers = [subprocess.Popen(command, stdin=null, stdout=null) for _ in range(WORKERS)]
    try:
        statuses = [worker.wait(max(1, begin + LIMIT - time.monotonic())) for worker in workers]
    except subprocess.TimeoutExpired:
        for worker in workers:
            worker.terminate()
            worker.wait()
        return None
    return time.monotonic() - begin if not any(statuses) else None


def contended(found):
    times = {name: [] for name in found}
    for round_ in range(CROWD_ROUNDS):
        for name, prefix in found.items():
            times[name].append(crowd(prefix, f"crowd{round_}"))
    result = {}
    for name, seconds in times.items():
        if None in seconds:
            result[name] = {"failed": f"a worker failed, or {LIMIT} s were not enough"}
            continue
        median = statistics.median(seconds)
        result[name] = {"seconds": median, "runs_per_s": WORKERS * RUNS / median}
    return result


def descendants(pid):
    children = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
            for child in f.read().split():
                children += [int(child)] + descendants(int(child))
    return children


def private_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        return sum(int(line.split()[1]) for line in f
                   if line.startswith(("Private_Clean", "Private_Dirty")))


def waiter(prefix):
    """Private memory and threads of one that waits, with the processes it runs to do so."""
    null = subprocess.DEVNULL
    files = {"stdin": null, "stdout": null, "stderr": null}
    holder = subprocess.Popen(prefix("held") + ["sleep", "60"], **files)
    time.sleep(0.5)
    waiting = subprocess.Popen(prefix("held") + ["true"], **files)
    time.sleep(1.5)
    try:
        for _ in range(20):  # a wrapper's children come and go
            try:
                pids = [waiting.pid] + descendants(waiting.pid)
                memory = sum(private_kib(pid) for pid in pids)
                threads = sum(len(os.listdir(f"/proc/{pid}/task")) for pid in pids)
                return {"private_kib": memory, "threads": threads, "processes": len(pids)}
            except (FileNotFoundError, ProcessLookupError):
                time.sleep(0.02)
        return {"private_kib": None, "threads": None, "processes": None}
    finally:
        below = descendants(holder.pid)
        for process in (waiting, holder):
            process.terminate()
        for pid in below:  # flock and the wrapper leave their command running
            try:
                os.kill(pid, 15)
            except ProcessLookupError:
                pass
        for process in (waiting, holder):
            process.wait()


def version(*command):
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return said.splitlines()[0].strip() if said else "?"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        models = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    facts = {"kernel": platform.release(), "cpu": models[0] if models else platform.machine(),
             "cpus": os.cpu_count(), "load_before": round(os.getloadavg()[0], 2),
             "dlock": version("build/release/dlock", "--version"),
             "flock": version("flock", "--version"), "redis": version("redis-server", "--version")}
    if shutil.which("etcdctl"):
        facts["etcd"] = version("etcd", "--version")
    return facts


def table(head, rows):
    print("  " + f"{head[0]:<20}" + "".join(f"{word:>13}" for word in head[1:]))
    for row in rows:
        print("  " + f"{row[0]:<20}" + "".join(f"{word:>13}" for word in row[1:]))
    print()


def report(result):
    for key, value in result["machine"].items():
        print(f"  {key}: {value}")
    print(f"\nOne run of true, nobody else wants the lock ({ROUNDS} rounds, in turns)")
    base = result["uncontended"]["flock"]["median_ms"]
    table(["", "median ms", "p90 ms", "x flock"],
          [[name, f"{r['median_ms']:.2f}", f"{r['p90_ms']:.2f}", f"{r['median_ms'] / base:.2f}"]
           for name, r in result["uncontended"].items()])
    print(f"{WORKERS} workers x {RUNS} runs of true under one lock "
          f"(median of {CROWD_ROUNDS}, in turns)")
    base = result["contended"]["flock"].get("runs_per_s", float("nan"))
    table(["", "seconds", "runs/s", "x flock"],
          [[name, r["failed"]] if "failed" in r else
           [name, f"{r['seconds']:.2f}", f"{r['runs_per_s']:.0f}", f"{r['runs_per_s'] / base:.2f}"]
           for name, r in result["contended"].items()])
    print("One that waits, with the processes it runs to do so")
    table(["", "private KiB", "threads", "processes"],
          [[name] + [str(r[key]) for key in ("private_kib", "threads", "processes")]
           for name, r in result["waiter"].items()])


def main():
    if sys.argv[1:] not in ([], ["quick"]):
        raise SystemExit("usage: bench.py [quick]")
    for name in [n for n in os.environ if n.startswith(("DLOCK_", "REDIS"))]:
        del os.environ[name]
    os.environ["ETCDCTL_API"] = "3"
    with tempfile.TemporaryDirectory(prefix="dlock-bench.") as folder:
        os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = folder
        result = {"machine": machine()}
        servers = Servers(folder)
        try:
            found = candidates(folder, servers)
            result["uncontended"] = uncontended(found)
            result["contended"] = contended(found)
            result["waiter"] = {name: waiter(prefix) for name, prefix in found.items()}
        finally:
            servers.stop()
    report(result)
    with open("build/bench.json", "w", encoding="utf-8") as out:
        json.dump(result, out, indent=2)
        out.write("\n")
    print("written to build/bench.json")


if __name__ == "__main__":
    main()
