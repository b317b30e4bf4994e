#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Chaos on the stores without MONITOR: a file of SQLite, PostgreSQL, MariaDB, three members of an
etcd, three servers of a ZooKeeper. Clients take one lock over and over, a nemesis freezes and kills
dlock, its guard, the server, and cuts clients off.

    stores.py sqlite|postgres|mysql|etcd|zookeeper [SEED] [SECONDS] [--on-lost warn]

Every section ticks every 2 ms: no two of them may overlap, and tokens grow (class G: the server
keeps what it has committed, and of a dlock and its guard one is left). --on-lost warn turns it
round: there an overlap has to be seen, or the run shows nothing.
The last line is "N passed, N failed"."""
import argparse
import glob
import os
import pwd
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from bench import ProxyProcess
from etcd_members import Etcd
from failover import (TTL, Worker, backwards, build_ticker, end_runs, kill_runs, overlaps, sections,
                      until, verdict)
from members import CLIENTS
from servers import free_port
from way import Way, tell
from zookeeper_members import Zookeeper


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass  # the thread has ended
    return found


def command_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class Server(Way):
    """A server of SQL, under its own account if we are root; a proxy has a port for each client."""

    account = command = None

    def __init__(self, folder):
        self.folder, self.port, self.process = os.path.join(folder, "server"), free_port(), None
        os.makedirs(self.folder)
        os.chmod(folder, 0o755)
        self.change = []
        if os.getuid() == 0:
            user = pwd.getpwnam(self.account)
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.change = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}",
                           "--clear-groups"]
        self.make()
        self.start()
        self.proxy = ProxyProcess(self.port, CLIENTS, "raw")

    def call(self, *words):
        subprocess.run([*self.change, *words], check=True, cwd=self.folder,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def start(self):
        with open(os.path.join(os.path.dirname(self.folder), "log"), "ab") as log:
            self.process = subprocess.Popen([*self.change, *self.words()], cwd=self.folder,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until(self.answers, 30, "the server does not answer")

    def pids(self):
        return [self.process.pid, *children(self.process.pid)]

    def signal(self, number):
        for pid in self.pids():
            tell(pid, number)

    def kill(self):
        pids = self.pids()
        self.signal(signal.SIGKILL)
        self.process.wait()
        until(lambda: not any(command_of(pid) for pid in pids[1:]), 20, "it does not end")

    def stop(self):
        self.signal(signal.SIGCONT)
        self.kill()
        self.proxy.process.kill()
        self.proxy.process.wait()

    faults = ("freeze_server", "kill_server", "blackhole", "drop", "hold", "reset", "cut")

    def freeze_server(self, seconds, _):
        self.signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.signal(signal.SIGCONT)

    def kill_server(self, seconds, _):
        self.kill()
        time.sleep(seconds / 3)
        self.start()


class Postgres(Server):
    account = "postgres"

    def make(self):
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.call(f"{self.programs}/initdb", "-D", "data", "-A", "trust", "-U", "postgres",
                  "--no-sync")

    def words(self):
        return [f"{self.programs}/postgres", "-D", "data", "-k", "", "-p", str(self.port), "-c",
                "max_connections=200", "-c", "shared_buffers=8MB"]

    def answers(self):
        return subprocess.run([f"{self.programs}/pg_isready", "-q", "-h", "127.0.0.1", "-p",
                               str(self.port)], check=False).returncode == 0

    def url(self, client=None):
        port = self.port if client is None else self.proxy.ports[client]
        return f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable"


class Mysql(Server):
    account = "mysql"

    def make(self):
        accounts = os.path.join(os.path.dirname(self.folder), "accounts.sql")
        with open(accounts, "w", encoding="ascii") as file:
            file.write("FLUSH PRIVILEGES;\nCREATE DATABASE locks;\nCREATE USER chaos@'127.0.0.1';\n"
                       "GRANT ALL ON locks.* TO chaos@'127.0.0.1';\n")
        self.call("mariadb-install-db", "--no-defaults", f"--datadir={self.folder}/data",
                  f"--tmpdir={self.folder}", "--skip-test-db",
                  "--auth-root-authentication-method=normal", f"--extra-file={accounts}")

    def words(self):
        return ["mariadbd", "--no-defaults", f"--datadir={self.folder}/data",
                f"--tmpdir={self.folder}",
                f"--socket={self.folder}/socket", f"--port={self.port}",
                "--bind-address=127.0.0.1", "--skip-log-bin", "--skip-name-resolve",
                "--innodb-buffer-pool-size=8M", "--performance-schema=0"]

    def answers(self):
        return subprocess.run(["mariadb-admin", "--no-defaults", "-h", "127.0.0.1", "-P",
                               str(self.port), "-u", "chaos", "ping"], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def url(self, client=None):
        port = self.port if client is None else self.proxy.ports[client]
        return f"mysql://chaos@127.0.0.1:{port}/locks"


class Sqlite:
    """No server; what can stand still is another program that writes to the file."""

    faults = ("writer",)

    def __init__(self, folder):
        self.path = os.path.join(folder, "locks.db")

    def url(self, _=None):
        return f"sqlite://{self.path}"

    def writer(self, seconds, _):
        base = sqlite3.connect(self.path, timeout=5, isolation_level=None)
        try:
            base.execute("BEGIN IMMEDIATE")
            time.sleep(seconds)
            base.execute("ROLLBACK")
        except sqlite3.OperationalError:
            pass
        finally:
            base.close()

    def stop(self):
        pass


class Client(Worker):
    lengths = (50, 500, 4000, 8000)  # some outlast a lease that is not renewed

    def options(self):
        # One that finds the lock taken waits, or it comes back: then there is no line.
        return ["--on-lost", self.given.on_lost, *self.random.choice(([], ["-w", "0"]))]


class Nemesis:
    """One fault after the other; most hit the client that holds the lock."""

    of_clients = ("freeze_dlock", "kill_dlock", "kill_guard", "freeze_guard")

    def __init__(self, given, store, workers):
        self.random, self.store, self.workers = random.Random(f"{given.seed}:n"), store, workers
        self.told = []

    def holder(self):
        """The worker whose command runs, or any."""
        for worker in self.random.sample(self.workers, len(self.workers)):
            if worker.now and worker.now.poll() is None and len(children(worker.now.pid)) > 1:
                return worker
        return self.random.choice(self.workers)

    def one(self):
        worker = self.holder()
        kind = self.random.choice(self.of_clients + self.store.faults)
        seconds = self.random.choice((0.3, 0.8, 1.5)) * TTL
        self.told.append(f"{kind} {seconds:.1f}s")
        if kind in self.store.faults:
            getattr(self.store, kind)(seconds, worker.number)
        elif worker.now:
            getattr(self, kind)(worker.now.pid, seconds)
        time.sleep(self.random.uniform(0.2, 1.5))

    @staticmethod
    def guards(pid):
        return [child for child in children(pid) if command_of(child) == "lease-guard"]

    @staticmethod
    def freeze_dlock(pid, seconds):
        tell(pid, signal.SIGSTOP)
        time.sleep(seconds)
        tell(pid, signal.SIGCONT)

    @staticmethod
    def kill_dlock(pid, _):
        tell(pid, signal.SIGKILL)

    def kill_guard(self, pid, _):
        for guard in self.guards(pid):
            tell(guard, signal.SIGKILL)

    def freeze_guard(self, pid, seconds):
        guards = self.guards(pid)
        for guard in guards:
            tell(guard, signal.SIGSTOP)
        time.sleep(seconds)
        for guard in guards:
            tell(guard, signal.SIGCONT)


STORES = {"sqlite": Sqlite, "postgres": Postgres, "mysql": Mysql, "etcd": Etcd,
          "zookeeper": Zookeeper}


def play(given, folder):
    ticker, store, workers = build_ticker(), None, []
    try:
        store = STORES[given.store](folder)
        workers = [Client(n, store.url(n), given, folder, ticker) for n in range(CLIENTS)]
        for worker in workers:
            worker.start()
        nemesis, end = Nemesis(given, store, workers), time.monotonic() + given.seconds
        time.sleep(1.5)
        while time.monotonic() < end:
            nemesis.one()
        end_runs(workers)
        done = subprocess.run([given.dlock, "run", "--url", store.url(), "-w", "20s", "chaos",
                               "--", "true"], check=False, timeout=60).returncode
        return sections(workers), nemesis.told, done
    finally:
        kill_runs(workers)
        if store:
            store.stop()


def main(words):
    parser = argparse.ArgumentParser(prog="chaos stores", description=__doc__.split("\n")[0])
    parser.add_argument("store", choices=STORES)
    parser.add_argument("seed", nargs="?", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("seconds", nargs="?", type=float, default=60)
    parser.add_argument("--on-lost", dest="on_lost", default="stop", choices=["stop", "warn"])
    parser.add_argument("--dlock", default=os.path.abspath(os.environ.get("DLOCK",
                                                                         "build/dev/dlock")))
    given = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = tempfile.mkdtemp(prefix="dlock-stores-")
    found, told, done = play(given, folder)
    over, back = overlaps(found), backwards(found)
    kinds = sorted({word.split()[0] for word in told})
    print(f"{given.store} {given.seed}: {len(found)} sections, {len(told)} faults "
          f"({', '.join(f'{kind} {sum(t.startswith(kind) for t in told)}' for kind in kinds)})")
    for line in (over + back)[:10]:
        print("  " + line)
    checks = {"sections were run": len(found) > 5, "the lock is to be had at the end": done == 0}
    if given.on_lost == "warn":
        checks["an overlap was seen"] = bool(over)
    else:
        checks |= {"no two sections overlap": not over, "tokens grow": not back}
    return verdict(checks, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
