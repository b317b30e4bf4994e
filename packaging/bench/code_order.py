#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./dev order: writes packaging/code-order.ld: what a run of a free lock uses of the program.

The linker puts these functions and constants side by side. The kernel maps a file in pieces of 64
KiB, one page fault each, and the half megabyte that a run uses would lie all over the file.
valgrind says which addresses a run on each store uses, the linker's map says what lies there.
"""

import bisect
import contextlib
import glob
import os
import re
import subprocess
import sys
import tempfile

from setting import Servers, candidates
from store_servers import Stores

PROGRAM, MAP = "build/release/dlock", "build/release/dlock.map"
ORDER = "packaging/code-order.ld"
KINDS = (".text", ".rodata")
# Strings and floating-point numbers are merged, so that the map does not say where one is: dlock's
# own, without the Lua scripts, and those of the C library.
MERGED = re.compile(r"\.(str|cst)[0-9]")
TEXTS = ("*.ltrans.o(.rodata*.str1.1 .rodata._*.str1.8 .rodata*.cst*)",
         "*libc.a:(.rodata*.str* .rodata*.cst*)")
# Beside those that candidates() has. PostgreSQL without a password, which takes too long to check.
STORES = ("trust", "MariaDB", "etcd", "ZooKeeper")
LEASE = ("--ttl", "40s")  # valgrind is slow; ZooKeeper allows no longer one
MOST_LETTERS = 88  # of a name in the list: the rest of a longer one is a wildcard

HEAD = """/* SPDX-License-Identifier: MIT
   Written by ./dev order: the functions and constants that a run of a free lock uses, side by side.
   A name that no longer exists does no harm. */
"""
# What names a copy of a function that the compiler made for one caller.
COPY = re.compile(r"\.(constprop|isra|part|lto_priv|cold)\.?.*")
ROW = re.compile(r"^ (\.\S+)?\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+(\S.*)$")
OF_ARCHIVE = re.compile(r"([^/]+\.a)\((.*)\)$")


class Section:
    """A piece that the linker places: where it is, its name, and the file that it came from."""

    def __init__(self, begin, size, name, file):
        self.begin, self.end, self.name, self.file = begin, begin + size, name, file

    def pattern(self):
        """How a linker script names it: by the function, or by the file within its library."""
        archive = OF_ARCHIVE.search(self.file)
        if archive and "_Z" not in self.name:
            library = re.sub(r"-[0-9.]+\.a$", "-*.a", archive[1])
            return f"*{library}:{archive[2]}({self.name})"
        if self.name.count(".") > 1:
            return f"*({COPY.sub('', self.name)[:MOST_LETTERS]}*)"
        return f"*{os.path.basename(self.file)}({self.name})"


def sections(kind):
    """The sections of the program's output sections KIND and KIND.run, by address."""
    found, inside, name = [], False, None
    with open(MAP, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if re.match(r"^\.\S", line):
                inside = line.split()[0] in (kind, f"{kind}.run")
            elif inside and re.match(r"^ \.\S+$", line):
                name = line.strip()  # a long name has a line of its own
            elif inside and (row := ROW.match(line)):
                size = int(row[3], 16)
                if size and (row[1] or name):
                    found.append(Section(int(row[2], 16), size, row[1] or name, row[4]))
                name = None
    return sorted(found, key=lambda section: section.begin)


def used_by(one, folder):
    """The addresses of the code that a run in this store executes, and of the data it uses."""
    command = [one.program, "run", *LEASE, "order", "--", "true"]
    subprocess.run(command, env=one.environment, check=True)  # makes tables, loads scripts
    subprocess.run(["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={folder}/used.%p",
                    *command], env=one.environment, check=True)
    code, data = {}, {}
    for name in sorted(glob.glob(f"{folder}/used.*")):
        with open(name, encoding="ascii", errors="replace") as lines:
            for line in lines:
                if line[:2] in ("I ", " L", " S", " M"):
                    (code if line[0] == "I" else data)[int(line[3:line.index(",")], 16)] = None
        os.unlink(name)
    return list(code), list(data)


def found_at(addresses, placed):
    """The sections in which the addresses lie, in the order of their first use."""
    begins, found = [section.begin for section in placed], {}
    for address in addresses:
        at = bisect.bisect_right(begins, address) - 1
        if at >= 0 and address < placed[at].end:
            found[placed[at]] = None
    return list(found)


def in_order(of_stores):
    """What all stores use first, then what is left of each."""
    common = [section for section in of_stores[0]
              if all(section in others for others in of_stores[1:])]
    return list(dict.fromkeys(section for part in (common, *of_stores) for section in part))


def block(kind, patterns):
    lines = "".join(f"    {pattern}\n" for pattern in dict.fromkeys(patterns))
    return f"SECTIONS\n{{\n  {kind}.run : {{\n{lines}  }}\n}}\nINSERT BEFORE {kind};\n"


def main():
    placed = {kind: sections(kind) for kind in KINDS}
    used = {kind: [] for kind in KINDS}  # of each store
    with tempfile.TemporaryDirectory(prefix="dlock-order.") as folder, \
            contextlib.closing(Servers(folder)) as servers:
        os.environ["HOME"] = folder
        program = os.path.abspath(PROGRAM)
        with contextlib.closing(Stores(folder, program)) as stores:
            rows = [one for one in candidates(folder, servers, program) if one.store]
            rows += [one for one in stores.rows + stores.once() if one.store in STORES]
            for one in rows:
                print(one.name, file=sys.stderr)
                code, data = used_by(one, folder)
                for kind in KINDS:
                    used[kind].append(found_at(code if kind == ".text" else data, placed[kind]))
    with open(ORDER, "w", encoding="utf-8") as out:
        out.write(HEAD)
        for kind in KINDS:
            patterns = [section.pattern() for section in in_order(used[kind])
                        if not MERGED.search(section.name)]
            out.write(block(kind, patterns + list(TEXTS if kind == ".rodata" else ())))


if __name__ == "__main__":
    main()
