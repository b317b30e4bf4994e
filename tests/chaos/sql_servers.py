# SPDX-License-Identifier: MIT
"""A private PostgreSQL and MariaDB, and a file of SQLite."""
import glob
import os
import sqlite3
import subprocess
import time

from members import Alone


class Postgres(Alone):
    account = "postgres"
    options = ("-c", "max_connections=200", "-c", "shared_buffers=8MB")

    def make(self, number):
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.call(number, f"{self.programs}/initdb", "-D", "data", "-A", "trust", "-U", "postgres",
                  "--no-sync")

    def words(self, number):
        return [f"{self.programs}/postgres", "-D", "data", "-k", "", "-p", str(self.port),
                *self.options]

    def answers(self, number):
        return subprocess.run([f"{self.programs}/pg_isready", "-q", "-h", "127.0.0.1", "-p",
                               str(self.port)], check=False).returncode == 0

    def url(self, client=None):
        return f"postgresql://postgres@127.0.0.1:{self.port_of(client)}/postgres?sslmode=disable"


class Mysql(Alone):
    account = "mysql"
    options = ("--skip-log-bin", "--skip-name-resolve", "--innodb-buffer-pool-size=8M",
               "--performance-schema=0")

    def make(self, number):
        accounts = os.path.join(self.folder, "accounts.sql")
        with open(accounts, "w", encoding="ascii") as file:
            file.write("FLUSH PRIVILEGES;\nCREATE DATABASE locks;\nCREATE USER chaos@'127.0.0.1';\n"
                       "GRANT ALL ON locks.* TO chaos@'127.0.0.1';\n")
        place = self.place(number)
        self.call(number, "mariadb-install-db", "--no-defaults", f"--datadir={place}/data",
                  f"--tmpdir={place}", "--skip-test-db",
                  "--auth-root-authentication-method=normal", f"--extra-file={accounts}")

    def words(self, number):
        place = self.place(number)
        return ["mariadbd", "--no-defaults", f"--datadir={place}/data", f"--tmpdir={place}",
                f"--socket={place}/socket", f"--port={self.port}", "--bind-address=127.0.0.1",
                *self.options]

    def answers(self, number):
        return subprocess.run(["mariadb-admin", "--no-defaults", "-h", "127.0.0.1", "-P",
                               str(self.port), "-u", "chaos", "ping"], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def url(self, client=None):
        return f"mysql://chaos@127.0.0.1:{self.port_of(client)}/locks"


class Sqlite:
    """No server; what can stand still is another program that writes to the file."""

    faults, options_of_dlock = ("writer",), ()

    def __init__(self, folder):
        self.path = os.path.join(folder, "locks.db")

    def open_way(self, _):
        pass

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
