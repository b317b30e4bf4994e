# SPDX-License-Identifier: MIT
"""The stores that are compared, each with a private server, and what their servers have themselves:
an advisory lock held by psql, GET_LOCK by mariadb, `etcdctl lock`, kazoo's lock of ZooKeeper.

The servers flush as they do by default: nothing of that is switched off. They are reached over TCP.
What a grant outlives once it is acknowledged is said beside each figure: "process" is a kill -9 of
the server, "host" a crash of its host as well, "minority" also the loss of one of three members. A
file of SQLite is of one host, whose crash ends the holders too. The rest are locks of a connection,
or of a process: "nothing".
"""

import copy
import os
import shutil
import socket
import subprocess
import sys

from setting import Candidate

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "tests", "chaos"))
from etcd_members import Etcd
from failover import build_ticker  # for store_faults
from members import Alone, command_of  # the second for store_rest
from quorum_members import QuorumOf5  # for quorum
from sql_servers import Mysql, Postgres, Sqlite
from zk_members import JARS, Zookeeper

KAZOO = "kazoo==2.11.0"
PYTHON_MS = 600  # so long an interpreter needs before it waits for a lock, on a busy machine


class Redis(Alone):
    settings, fsync = "appendonly yes, appendfsync everysec", "everysec"

    def words(self, number):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                "--appendonly", "yes", "--appendfsync", self.fsync, "--maxclients", "24000"]

    def answers(self, number):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as way:
                way.sendall(b"PING\r\n")
                return way.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def url(self):
        return f"redis://127.0.0.1:{self.port}"


class RedisAlways(Redis):
    settings, fsync = "appendonly yes, appendfsync always", "always"


class ScramPostgres(Postgres):
    """Its user has a password, checked by SCRAM, as Debian sets it up."""

    settings = "fsync, synchronous_commit on; SCRAM"
    options = ("-c", "max_connections=700")

    def make(self, number):
        super().make(number)
        with open(f"{self.place(number)}/data/pg_hba.conf", "w", encoding="ascii") as rules:
            rules.write("host all dlock 127.0.0.1/32 scram-sha-256\n"
                        "host all all 127.0.0.1/32 trust\n")

    def __init__(self, folder):
        super().__init__(folder)
        for statement in ("create role dlock superuser login password 'dlock'",
                          "create database locks"):
            subprocess.run(["psql", "-Xqh", "127.0.0.1", "-p", str(self.port), "-U", "postgres",
                            "-c", statement], check=True)

    def url(self, user="dlock:dlock"):
        return f"postgresql://{user}@127.0.0.1:{self.port}/locks?sslmode=disable"


class Mariadb(Mysql):
    settings = "innodb_flush_log_at_trx_commit 1, no binary log"
    options = ("--skip-name-resolve", "--max-connections=700")


class EtcdMembers(Etcd):
    settings = "each write flushed; heartbeat 100 ms, election 1 s"
    options = ()


class OneEtcd(EtcdMembers):
    count = 1


class Zookeepers(Zookeeper):
    settings = "forceSync yes, tickTime 2 s"
    tick = 2000


class OneZookeeper(Zookeepers):
    count = 1


class File(Sqlite):
    settings, count = "WAL, synchronous NORMAL", 0

    def freeze(self, _, seconds):
        self.writer(seconds, None)


class Row(Candidate):
    """A way to hold a lock in a store: words(lock, ttl), where ttl may be None."""

    def __init__(self, name, words, survives="nothing", environment=None, store=None, server=None):
        super().__init__(name, words, environment, store)
        self.survives, self.server = survives, server
        self.settings = server.settings if server else ""

    def leased(self, ttl):
        """The same with this lease, in seconds."""
        again = copy.copy(self)
        again.words = lambda lock: self.words(lock, ttl)
        return again


STORES = (  # name, what has to be installed, the server, what a grant outlives
    ("Redis, AOF everysec", "redis-server", Redis, "process"),
    ("Redis, AOF always", "redis-server", RedisAlways, "host"),
    ("SQLite", None, File, "process"),
    ("PostgreSQL", "psql", ScramPostgres, "host"),
    ("MariaDB", "mariadbd", Mariadb, "host"),
    ("etcd", "etcd", OneEtcd, "host"),
    ("etcd, 3 members", "etcd", EtcdMembers, "minority"),
    ("ZooKeeper", JARS.split(":", maxsplit=1)[0], OneZookeeper, "host"),
    ("ZooKeeper, 3 servers", JARS.split(":", maxsplit=1)[0], Zookeepers, "minority"),
)


def script(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write("#!/bin/sh\nlock=$1; shift\n" + text + "\n")
    os.chmod(path, 0o755)
    return lambda lock, ttl=None: [path, lock]


def psql(folder, server):
    to = f"postgresql://dlock:dlock@127.0.0.1:{server.port}/locks?sslmode=disable"
    yield Row("psql, advisory lock", script(
        f"{folder}/psql-lock", f"exec psql -Xqo /dev/null '{to}' -c "
        "\"select pg_advisory_lock(hashtext('$lock'))\" -c \"\\\\! $*\""))


def mariadb(folder, server):
    yield Row("mariadb, GET_LOCK", script(
        f"{folder}/mariadb-lock",
        "printf 'select get_lock(\"%s\", 86400);\\nsystem %s\\n' \"$lock\" \"$*\" |\n"
        f"  mariadb --no-defaults -NB -h 127.0.0.1 -P {server.port} -u chaos >/dev/null"))


def etcdctl(_, server):
    yield Row("etcdctl lock", lambda lock, ttl=60: [
        "etcdctl", "--endpoints", f"127.0.0.1:{server.port}", "lock", "--ttl", str(ttl), lock],
              "host")


def kazoo(_, server):
    """In a folder of the build; without it where it cannot be fetched."""
    library = os.path.join(HERE, "..", "..", "build", "bench", "kazoo")
    if not os.path.isdir(library) and subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check",
             "--target", library, KAZOO], stderr=subprocess.DEVNULL, check=False,
            timeout=120).returncode != 0:
        return
    one = Row("kazoo, in Python", lambda lock, ttl=10: [
        sys.executable, f"{HERE}/kazoo_lock.py", server.hosts(None), str(ttl), lock], "host",
              {"PYTHONPATH": library})
    one.pause_us = PYTHON_MS * 1000
    yield one


PEERS = {"PostgreSQL": psql, "MariaDB": mariadb, "etcd": etcdctl, "ZooKeeper": kazoo}


def dlock_words(program):
    def words(lock, ttl=None):
        return [program, "run", *([] if ttl is None else ["--ttl", f"{ttl}s"]), lock, "--"]
    return words


class Stores:
    """`rows` are flock, dlock on each store that is installed here, and the peers."""

    def __init__(self, folder, dlock):
        self.servers, peers, words = [], [], dlock_words(dlock)
        os.chmod(folder, 0o711)  # servers have accounts of their own
        self.rows = [Row("flock", lambda lock, ttl=None: ["flock", f"{folder}/{lock}"])]
        try:
            for number, (name, needs, kind, survives) in enumerate(STORES):
                if needs and not (shutil.which(needs) or os.path.exists(needs)):
                    continue
                place = f"{folder}/store{number}"
                os.mkdir(place)
                server = kind(place)
                self.servers.append(server)
                self.rows.append(Row(f"dlock, {name}", words, survives,
                                     {"DLOCK_URL": server.url()}, name, server))
                peers += PEERS.get(name, lambda *_: ())(place, server)
        except BaseException:
            self.close()
            raise
        self.rows += peers

    def once(self):
        """The ways whose costs only are looked at: PostgreSQL without SCRAM."""
        found = [Row("dlock, PostgreSQL, trust", one.words, one.survives,
                     {"DLOCK_URL": one.server.url("postgres")}, "trust", one.server)
                 for one in self.rows if one.store == "PostgreSQL"]
        for one in found:
            one.settings = "the same, no password"
        return found

    def close(self):
        for server in self.servers:
            server.stop()
