#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Failovers: a master, replicas and three sentinels, clients on both sides of what is cut, and a
nemesis that kills, freezes or cuts off whoever is the master.

    failover.py [SEED] [SECONDS] [--replicas N] [--only FAULTS] [--expect overlap]

Each server has a proxy of its own, and all others know it by the port of that: other servers,
sentinels, and the clients outside, which ask the sentinels. The clients inside talk to one server
directly, so a cut leaves them with an old master. N is by default the number of replicas, all of
which can become the master: then no two sections may overlap, and tokens grow. --expect overlap
turns it round: with --replicas 0 an old master lets two run, and that has to be seen. The servers
have an AOF, as a master may be back before it is replaced.
The last line is "N passed, N failed"."""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from servers import Client, RedisError, free_port
from way import ProxyProcess, until

HERE = os.path.dirname(os.path.abspath(__file__))
REPLICAS = 1  # with two, a master that was killed leaves one, and nothing is granted until it is back
TTL, KILL_AFTER = 3.0, 0.3  # s
DOWN_AFTER = 1.0  # s, after which a sentinel thinks that a master is down
OUTSIDE, INSIDE = 4, 2  # clients


class Server:
    def __init__(self, folder, number):
        self.folder, self.port = os.path.join(folder, f"redis{number}"), free_port()
        os.makedirs(self.folder)
        self.process = None
        self.proxy = ProxyProcess(self.port, 1)
        self.address = self.proxy.ports[0]

    def start(self, *words):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--save", "", "--dir", self.folder,
                 "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
                 "--replica-announce-ip", "127.0.0.1", "--replica-announce-port",
                 str(self.address), "--appendonly", "yes", "--appendfsync", "always", *words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ask(self, *words):
        with Client(("127.0.0.1", self.port), 2) as client:
            return client.call(*words)

    def role(self):
        try:
            return self.ask("ROLE")[0]
        except (OSError, RedisError):
            return ""


class Set:
    """The servers, and the sentinels that know the master as "chaos"."""

    def __init__(self, folder):
        self.servers = [Server(folder, n) for n in range(1 + REPLICAS)]
        master = self.servers[0]
        master.start()
        until(lambda: master.role() == "master", 20, "the master did not start")
        for server in self.servers[1:]:
            server.start("--replicaof", "127.0.0.1", str(master.address))
        self.sentinels = []
        for number in range(3):
            place = os.path.join(folder, f"sentinel{number}")
            os.makedirs(place)
            port = free_port()
            with open(os.path.join(place, "conf"), "w", encoding="ascii") as conf:
                conf.write(f"port {port}\nbind 127.0.0.1\ndir {place}\n"
                           f"sentinel monitor chaos 127.0.0.1 {master.address} 2\n"
                           f"sentinel down-after-milliseconds chaos {DOWN_AFTER * 1000:.0f}\n"
                           "sentinel failover-timeout chaos 3000\n")
            with open(os.path.join(place, "log"), "ab") as log:
                process = subprocess.Popen(["redis-server", os.path.join(place, "conf"),
                                            "--sentinel"], stdin=subprocess.DEVNULL, stdout=log,
                                           stderr=log)
            self.sentinels.append((port, process))
        for port, _ in self.sentinels:
            until(lambda p=port: self.knows(p), 30, "the sentinels do not find each other")
        self.url = "redis+sentinel://%s/chaos" % ",".join(
            f"127.0.0.1:{port}" for port, _ in self.sentinels)

    @staticmethod
    def knows(port):
        try:
            with Client(("127.0.0.1", port), 2) as client:
                said = client.call("SENTINEL", "master", "chaos")
        except (OSError, RedisError):
            return False
        fields = dict(zip(said[::2], said[1::2]))
        return fields["num-slaves"] == str(REPLICAS) and fields["num-other-sentinels"] == "2"

    def master(self):
        """As most sentinels name it."""
        named = []
        for port, _ in self.sentinels:
            with Client(("127.0.0.1", port), 2) as client:
                named.append(int(client.call("SENTINEL", "get-master-addr-by-name", "chaos")[1]))
        address = max(set(named), key=named.count)
        return next(one for one in self.servers if one.address == address)

    def stop(self):
        for process in [p for _, p in self.sentinels] + [
                p for s in self.servers for p in (s.process, s.proxy.process) if p]:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


class Worker(threading.Thread):
    """Takes the lock, runs a section under it that notes when it lives, and begins anew."""

    lengths = (20, 20, 100, 500, 1500, 4000)  # of sections, ms
    names = ("chaos",)

    def __init__(self, number, url, given, folder, ticker):
        super().__init__(daemon=True)
        self.number, self.url, self.given, self.folder, self.ticker = (
            number, url, given, folder, ticker)
        self.random = random.Random(f"{given.seed}:{number}")
        self.stopping, self.files, self.now = threading.Event(), [], None
        self.prefix, self.ahead = [], 0  # in front of dlock; s, of the clock that it gives

    def options(self):
        return ["--replicas", str(self.given.replicas)]

    def shell(self):
        return 'echo "$DLOCK_TOKEN $DLOCK_NAME" >"$0"; exec "$@"'

    def run(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("DLOCK", "REDIS"))}
        environment |= {"HOME": self.folder, "DLOCK_URL": self.url}
        while not self.stopping.is_set():
            base = os.path.join(self.folder, f"{self.number}-{len(self.files)}")
            self.files.append(base)
            section = [self.ticker, base + ".ticks", "for",
                       str(self.random.choice(self.lengths))]
            section += ["ignore", "15"] * self.random.choice((0, 1))
            with open(base + ".log", "wb") as log:
                self.now = subprocess.Popen(
                    [*self.prefix, self.given.dlock, "run", "-v", "--ttl", f"{TTL}s", "-k", f"{KILL_AFTER}s",
                     "-w", "8s", *self.options(), *self.names, "--", "sh", "-c",
                     self.shell(), base + ".token", *section],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
            self.now.wait()
            time.sleep(self.random.choice((0.0, 0.05, 0.2)))


class Nemesis:
    """One fault of the master after the other, each healed before the next begins."""

    def __init__(self, given, whole):
        self.random, self.set, self.told = random.Random(f"{given.seed}:nemesis"), whole, []
        self.kinds = given.only.split(",")

    def one(self):
        try:
            master = self.set.master()
        except (OSError, RedisError, StopIteration):
            return
        kind = getattr(self, self.random.choice(self.kinds))
        seconds = self.random.uniform(1.2, 3.0) * TTL
        self.told.append(f"{kind.__name__} {seconds:.1f}s")
        kind(master, seconds)
        until(self.is_whole, 60, "the set does not recover")
        time.sleep(self.random.uniform(1.0, 4.0))

    def kill(self, master, _):
        master.process.kill()
        master.process.wait()
        # Back before it is missed, while another takes over, or afterwards.
        time.sleep(self.random.choice((0.0, DOWN_AFTER, DOWN_AFTER + 3)))
        master.start()

    @staticmethod
    def freeze(master, seconds):
        master.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        master.process.send_signal(signal.SIGCONT)

    @staticmethod
    def cut(master, seconds):
        master.proxy.order(0, "blackhole")
        time.sleep(seconds)
        master.proxy.order(0, "pass")

    def is_whole(self):
        """One master, and its replicas have its data."""
        masters = [one for one in self.set.servers if one.role() == "master"]
        try:
            return len(masters) == 1 and masters[0].ask("INFO", "replication").count(
                "state=online") == REPLICAS
        except (OSError, RedisError):
            return False


def sections(workers):
    """(first tick, last tick, token, file), in order."""
    found = []
    for worker, base in ((worker, file) for worker in workers for file in worker.files):
        try:
            with open(base + ".ticks", encoding="ascii") as ticks:
                times = [int(line.split()[0]) - worker.ahead * 10**9
                         for line in ticks if line.endswith("\n")]
            with open(base + ".token", encoding="ascii") as token:
                found.append((times[0], times[-1], int(token.read().split()[0]), base))
        except (OSError, IndexError, ValueError):
            pass  # nothing ran
    return sorted(found)


def overlaps(found):
    return [f"{os.path.basename(b[3])} began {(a[1] - b[0]) / 1e6:.0f} ms before the end of "
            f"{os.path.basename(a[3])}" for a, b in zip(found, found[1:]) if b[0] <= a[1]]


def backwards(found):
    return [f"{os.path.basename(b[3])} has token {b[2]} after {a[2]}"
            for a, b in zip(found, found[1:]) if b[2] <= a[2]]


def verdict(checks, folder):
    """Prints them; the recording goes if all are well. The exit status."""
    for what, good in checks.items():
        print(f"{'ok     ' if good else 'FAILED '} {what}")
    failed = sum(not good for good in checks.values())
    if failed:
        print(f"  the recording is in {folder}")
    else:
        shutil.rmtree(folder)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


def end_runs(workers):
    """They begin no other, and what runs ends by itself."""
    for worker in workers:
        worker.stopping.set()
    for worker in workers:
        worker.join(60)


def kill_runs(workers):
    for worker in workers:
        worker.stopping.set()
        if worker.now and worker.now.poll() is None:
            worker.now.kill()


def build_ticker():
    out = os.path.join(HERE, "..", "..", "build", "chaos")
    os.makedirs(out, exist_ok=True)
    target = os.path.join(out, "ticker")
    source = os.path.join(HERE, "..", "support", "programs", "ticker.cpp")
    subprocess.run(["g++", "-O1", "-o", target, source], check=True)
    return target


def play(given, folder):
    ticker = build_ticker()
    whole, workers = None, []
    try:
        whole = Set(folder)
        urls = [whole.url] * OUTSIDE + [
            f"redis://127.0.0.1:{whole.servers[n % len(whole.servers)].port}"
            for n in range(INSIDE)]
        workers = [Worker(n, url, given, folder, ticker) for n, url in enumerate(urls)]
        for worker in workers:
            worker.start()
        nemesis, end = Nemesis(given, whole), time.monotonic() + given.seconds
        time.sleep(1.5)
        while time.monotonic() < end:
            nemesis.one()
        end_runs(workers)
        done = subprocess.run([given.dlock, "run", "--url", whole.url, "-w", "20s", "chaos",
                               "--", "true"], check=False, timeout=60).returncode
        return sections(workers), nemesis.told, done
    finally:
        kill_runs(workers)
        if whole:
            whole.stop()


def main(words):
    parser = argparse.ArgumentParser(prog="chaos failover", description=__doc__.split("\n")[0])
    parser.add_argument("seed", nargs="?", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("seconds", nargs="?", type=float, default=60)
    parser.add_argument("--replicas", type=int, default=REPLICAS)
    parser.add_argument("--only", default="kill,freeze,cut", help="these faults")
    parser.add_argument("--expect", choices=["overlap"])
    parser.add_argument("--dlock", default=os.path.abspath(os.environ.get("DLOCK",
                                                                         "build/dev/dlock")))
    given = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = tempfile.mkdtemp(prefix="dlock-failover-")
    found, told, done = play(given, folder)
    over, back = overlaps(found), backwards(found)
    print(f"failover {given.seed}: {len(found)} sections, {len(told)} faults ({', '.join(told)})")
    for line in (over + back)[:10]:
        print("  " + line)
    checks = {"sections were run": len(found) > 5, "the lock is to be had at the end": done == 0}
    if given.expect:
        checks["an overlap was seen"] = bool(over)
    else:
        checks |= {"no two sections overlap": not over, "tokens grow": not back}
    return verdict(checks, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
