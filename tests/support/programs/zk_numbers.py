#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sets which number the next sequential node below a path gets, in the data of a ZooKeeper that does
not run.

    zk_numbers.py FOLDER PATH NUMBER

FOLDER is its version-2. The newest snapshot has to have the node PATH. What fails ends with 1."""
import pathlib
import struct
import sys
import zlib

END = b"\0\0\0\1/"  # behind each of the sums over all that is before them


def text(value):
    return struct.pack(">i", len(value)) + value


def main():
    folder, path, number = pathlib.Path(sys.argv[1]), sys.argv[2].encode(), int(sys.argv[3])
    newest = max(folder.glob("snapshot.*"), key=lambda file: int(file.suffix[1:], 16))
    before = newest.read_bytes()
    data = bytearray(before)
    at = data.find(text(path))
    if at < 0:
        sys.exit(f"{newest} has no {path.decode()}")
    at += 4 + len(path)
    at += 4 + max(struct.unpack_from(">i", data, at)[0], 0)  # its data
    at += 8  # its rights
    at += 4 * 8 + 4  # czxid, mzxid, ctime, mtime, version
    struct.pack_into(">i", data, at, number)
    end = before.find(END, 8)
    while end >= 0:
        if struct.unpack_from(">q", before, end - 8)[0] == zlib.adler32(before[: end - 8]):
            struct.pack_into(">q", data, end - 8, zlib.adler32(data[: end - 8]))
        end = before.find(END, end + 1)
    newest.write_bytes(data)


main()
