# SPDX-License-Identifier: MIT
"""What a build folder has made: the program, its architecture, and all files around it."""
import os
import re
import struct
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = "https://github.com/dlock/dlock"
SUMMARY = "Run a command under a distributed lock"
DESCRIPTION = """dlock takes a lock that many machines share, runs a command while it
keeps the lock, and releases the lock when the command is gone. Locks are
kept in Redis (alone, with sentinels, as a cluster or a quorum; in the
layout of Redisson), PostgreSQL, MySQL, MariaDB, etcd or ZooKeeper, or on
one machine in SQLite or a directory."""
MAINTAINER = "dlock maintainers <maintainers@dlock.example>"
MACHINES = {62: "amd64", 183: "arm64"}  # e_machine of elf(5)


class Refusal(Exception):
    """A reason to make nothing."""


def epoch():
    """The time that stands in all that is made: of the commit, which ./dev knows."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or 0)


class Built:
    """One build folder. `tree` has what is installed below a prefix, once `install` was called."""

    def __init__(self, folder, scratch):
        self.folder = Path(folder).resolve()
        try:
            cache = (self.folder / "CMakeCache.txt").read_text()
            header = (self.folder / "dlock").read_bytes()[:20]
        except OSError as error:
            raise Refusal(f"no build in {folder}: {error}") from error
        if "\nDLOCK_STATIC:BOOL=ON\n" not in cache:
            raise Refusal(f"{folder} has no static program: ./dev build release")
        self.version = re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.+)$", cache, re.M)[1]
        self.arch = MACHINES[struct.unpack_from("<H", header, 18)[0]]
        self.tree = Path(scratch) / self.arch / "tree"

    def install(self):
        subprocess.run(["cmake", "--install", self.folder, "--prefix", self.tree, "--strip"],
                       check=True, stdout=subprocess.DEVNULL)
        return self

    @property
    def name(self):
        return f"dlock-{self.version}-linux-{self.arch}"

    @property
    def program(self):
        return self.tree / "bin/dlock"

    def files(self):
        """Of each file below the prefix: its path there, and whether it is a program."""
        for path in sorted(self.tree.rglob("*")):
            if path.is_file():
                yield path.relative_to(self.tree).as_posix(), bool(path.stat().st_mode & 0o100)

    def libraries(self):
        """Of each library in the program: name, Debian package, version, licence in SPDX's words."""
        lines = (self.folder / "libraries.txt").read_text().splitlines()
        return [tuple(line.split("|")) for line in lines]

    def licence(self):
        """The licences of the program, as one SPDX expression."""
        return " AND ".join(["MIT", *sorted({text for *_, text in self.libraries()} - {"MIT"})])
