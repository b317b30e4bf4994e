#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Chaos on the stores without MONITOR: a file of SQLite, PostgreSQL, MariaDB, three members of an
etcd. Clients take one lock over and over, a nemesis freezes and kills dlock, its guard, the server, and cuts clients off.

    stores.py sqlite|postgres|mysql|etcd [SEED] [SECONDS] [--on-lost warn]

Every section ticks every 2 ms: no two of them may overlap, and tokens grow (class G: the server
keeps what it has committed, and of a dlock and its guard one is left). --on-lost warn turns it
round: there an overlap has to be seen, or the run shows nothing.
The last line is "N passed, N failed"."""
import argparse
import glob
import json
import os
import pwd
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

from bench import ProxyProcess
from failover import (TTL, Worker, backwards, build_ticker, end_runs, kill_runs, overlaps, sections,
                      until, verdict)
from servers import free_port

CLIENTS = 6


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with open(path, encoding="ascii") as file:
            found += [int(word) for word in file.read().split()]
    return found


def command_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def tell(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Server:
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

    faults = ("freeze_server", "kill_server", "blackhole", "drop", "hold", "reset")

    def freeze_server(self, seconds, _):
        self.signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.signal(signal.SIGCONT)

    def kill_server(self, seconds, _):
        self.kill()
        time.sleep(seconds / 3)
        self.start()

    def on_way(self, client, seconds, *words):
        self.proxy.order(client, *words)
        time.sleep(seconds)
        self.proxy.order(client, "pass")

    def blackhole(self, seconds, client):
        self.on_way(client, seconds, "blackhole")

    def drop(self, seconds, client):
        self.on_way(client, seconds, "drop")

    def hold(self, seconds, client):
        self.on_way(client, seconds, "hold", 700)

    def reset(self, seconds, client):
        self.on_way(client, seconds / 3, "reset")


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


class Etcd(Server):
    """Three members; the first is reached through the proxy, the others without it."""

    faults = ("freeze_member", "freeze_leader", "freeze_followers", "kill_member", "kill_leader",
              "blackhole", "drop", "hold", "reset")

    def __init__(self, folder):
        self.folder = folder
        self.ports = [(free_port(), free_port()) for _ in range(3)]
        self.members = [None] * 3
        self.random = random.Random(self.ports[0][0])
        for number in range(3):
            self.start_member(number)
        until(self.answers, 30, "the members do not answer")
        self.proxy = ProxyProcess(self.ports[0][0], CLIENTS, "raw")

    def start_member(self, number):
        port, peer = self.ports[number]
        cluster = ",".join(f"m{n}=http://127.0.0.1:{p}" for n, (_, p) in enumerate(self.ports))
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.members[number] = subprocess.Popen(
                ["etcd", "--name", f"m{number}", "--data-dir", f"{self.folder}/m{number}",
                 "--listen-client-urls", f"http://127.0.0.1:{port}",
                 "--advertise-client-urls", f"http://127.0.0.1:{port}",
                 "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                 "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                 "--initial-cluster", cluster, "--heartbeat-interval", "50",
                 "--election-timeout", "500"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ask(self, path, port):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v3/{path}", b"{}")
        with urllib.request.urlopen(request, timeout=2) as answer:
            return json.load(answer)

    def answers(self):
        try:
            return all(self.ask("maintenance/status", port).get("leader", "0") != "0"
                       for port, _ in self.ports)
        except OSError:
            return False

    def leader(self):
        for number, (port, _) in enumerate(self.ports):
            try:
                status = self.ask("maintenance/status", port)
            except OSError:
                continue
            if status.get("leader") == status["header"]["member_id"]:
                return number
        return 0

    def url(self, client=None):
        first = self.ports[0][0] if client is None else self.proxy.ports[client]
        return f"etcd://127.0.0.1:{first},127.0.0.1:{self.ports[1][0]},127.0.0.1:{self.ports[2][0]}"

    def freeze(self, numbers, seconds):
        for number in numbers:
            tell(self.members[number].pid, signal.SIGSTOP)
        time.sleep(seconds)
        for number in numbers:
            tell(self.members[number].pid, signal.SIGCONT)

    def freeze_member(self, seconds, _):
        self.freeze([self.random.randrange(3)], seconds)

    def freeze_leader(self, seconds, _):
        self.freeze([self.leader()], seconds)

    def freeze_followers(self, seconds, _):
        leader = self.leader()
        self.freeze([number for number in range(3) if number != leader], seconds)

    def restart(self, number, seconds):
        self.members[number].kill()
        self.members[number].wait()
        time.sleep(seconds / 3)
        self.start_member(number)
        until(self.answers, 30, "the members do not answer")

    def kill_member(self, seconds, _):
        self.restart(self.random.randrange(3), seconds)

    def kill_leader(self, seconds, _):
        self.restart(self.leader(), seconds)

    def stop(self):
        for member in [*self.members, self.proxy.process]:
            member.kill()
            member.wait()


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
        return ["--on-lost", self.given.on_lost]


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


STORES = {"sqlite": Sqlite, "postgres": Postgres, "mysql": Mysql, "etcd": Etcd}


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
