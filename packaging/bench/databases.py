# SPDX-License-Identifier: MIT
"""Locks in databases, beside flock, Redis, and what the databases have themselves: an advisory lock
held by psql, GET_LOCK held by mariadb, `etcdctl lock`.

The servers are private, on unix sockets in a folder of this run, and flush each commit, as they do
by default; Redis keeps its locks in memory only. A figure of one is not a figure of the other.
"""

import glob
import os
import pwd
import shutil
import subprocess
import time

import line
import single
from setting import Candidate, free_port

ADVISORY = """#!/bin/sh
lock=$1; shift
exec psql -Xqo /dev/null -h {folder} -U postgres postgres -c "select pg_advisory_lock(hashtext('$lock'))" -c "\\\\! $*"
"""
GET_LOCK = """#!/bin/sh
lock=$1; shift
printf 'select get_lock("%s", 86400);\\nsystem %s\\n' "$lock" "$*" |
  mariadb --no-defaults -NB -S {folder}/socket -u root >/dev/null
"""
KEEPS = {"tcp": "memory", "sqlite": "file, until the machine starts", "postgresql": "flushed",
         "mysql": "flushed", "etcd": "flushed", "psql, advisory lock": "connection", "mariadb, GET_LOCK": "connection",
         "etcdctl lock": "flushed", "flock": "process"}


class Database:
    """A server in a folder of its own, run by the account that its package makes."""

    def __init__(self, folder, name, account):
        self.folder, self.account = f"{folder}/{name}", account
        os.chmod(folder, 0o711)
        os.mkdir(self.folder)
        if os.getuid() == 0:
            shutil.chown(self.folder, account)
        self.server = None

    def words(self, *command):
        if os.getuid() != 0:
            return list(command)
        user = pwd.getpwnam(self.account)
        return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
                *command]

    def make(self, *command):
        subprocess.run(self.words(*command), cwd=self.folder, check=True, capture_output=True)

    def start(self, command, ask):
        self.server = subprocess.Popen(self.words(*command), cwd=self.folder,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        end = time.monotonic() + 30
        while subprocess.run(ask, capture_output=True, check=False).returncode != 0:
            if time.monotonic() > end or self.server.poll() is not None:
                raise SystemExit(f"bench: {command[0]} does not answer")
            time.sleep(0.1)

    def stop(self):
        if self.server:
            self.server.terminate()
            self.server.wait()


def start_postgres(folder):
    """The server and its URL; None where PostgreSQL is not installed."""
    bins = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not bins or not shutil.which("psql"):
        return None
    server = Database(folder, "postgres", "postgres")
    data = f"{server.folder}/data"
    server.make(f"{bins[-1]}/initdb", "-D", data, "--auth=trust", "-U", "postgres")
    server.start([f"{bins[-1]}/postgres", "-D", data, "-k", server.folder, "-c",
                  "listen_addresses=", "-c", "max_connections=200"],
                 ["psql", "-Xh", server.folder, "-U", "postgres", "-c", "select 1"])
    return server, f"postgresql://postgres@/postgres?host={server.folder}"


def start_mariadb(folder):
    """The same of MariaDB."""
    if not all(shutil.which(name) for name in ("mariadbd", "mariadb-install-db", "mariadb")):
        return None
    server = Database(folder, "mysql", "mysql")
    data, socket = f"{server.folder}/data", f"{server.folder}/socket"
    server.make("mariadb-install-db", "--no-defaults", f"--datadir={data}",
                f"--tmpdir={server.folder}", "--skip-test-db",
                "--auth-root-authentication-method=normal")
    client = ["mariadb", "--no-defaults", "-S", socket, "-u", "root", "-e"]
    server.start(["mariadbd", "--no-defaults", f"--datadir={data}", f"--tmpdir={server.folder}",
                  f"--socket={socket}", f"--port={free_port()}", "--bind-address=127.0.0.1",
                  "--max-connections=300"], client + ["create database if not exists locks"])
    return server, f"mysql://root@/locks?socket={socket}"


def peer(folder, name, script, server):
    path = f"{folder}/{name}"
    with open(path, "w", encoding="utf-8") as out:
        out.write(script.format(folder=server.folder))
    os.chmod(path, 0o755)
    return path


def stores(found, stamp, folder, amount):
    """name -> what it keeps, and the three figures that matter to a user."""
    dlock = next(one for one in found if one.store)
    rows = [one for one in found
            if one.name in ("flock", "etcdctl lock") or one.store in ("tcp", "sqlite")]
    for one in [row for row in rows if row.name == "etcdctl lock"]:
        url = "etcd://" + one.words("x")[2]  # its endpoint
        rows.append(Candidate("dlock, etcd", dlock.words, {"DLOCK_URL": url}, "etcd"))
    servers = []
    try:
        for kind, start, name, script in (
                ("postgresql", start_postgres, "psql, advisory lock", ADVISORY),
                ("mysql", start_mariadb, "mariadb, GET_LOCK", GET_LOCK)):
            made = start(folder)
            if not made:
                continue
            servers.append(made[0])
            rows.append(Candidate(f"dlock, {kind}", dlock.words, {"DLOCK_URL": made[1]}, kind))
            path = peer(folder, f"peer-{kind}", script, made[0])
            rows.append(Candidate(name, lambda lock, path=path: [path, lock]))
        return measure(rows, stamp, folder, amount)
    finally:
        for server in servers:
            server.stop()


def measure(rows, stamp, folder, amount):
    flock, others = rows[0], rows[1:]
    pairs = single.in_pairs(lambda: single.run_once(flock.command("s", "true"), flock.environment),
                            {one.name: lambda one=one: single.run_once(one.command("s", "true"),
                                                                       one.environment)
                             for one in others}, max(3, amount.rounds // 3))
    crowds = single.contended(rows, min(3, amount.crowds))
    turns = line.one_waiter(rows, stamp, folder, max(1, amount.handoffs // 5))
    result = {}
    for one in rows:
        result[one.name] = {"keeps": KEEPS.get(one.store or one.name, "-")}
        if one.name in pairs:
            result[one.name]["ms"] = single.figure([wall for _, (wall, _) in pairs[one.name]])
            result[one.name]["x_flock"] = single.ratio([(a[0], b[0]) for a, b in pairs[one.name]])
        for figures, names in ((crowds, ("runs_per_s",)), (turns, ("p50_ms", "p99_ms"))):
            result[one.name].update({name: figures[one.name][name] for name in names
                                     if name in figures.get(one.name, {})})
    return result
