#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Moves the clocks that clock_shim.cpp shows.

    clock.py FILE true           no difference to the true clocks
    clock.py FILE real SECONDS   the wall clock jumps by so much
    clock.py FILE boot SECONDS   the boot clock jumps by so much
    clock.py FILE speed FACTOR   the boot clock runs at this speed from now on; 0: it stands still

FILE is made if it is not there. SECONDS may be several: one jump after the other, 100 ms apart.
"""
import mmap
import os
import struct
import sys
import time

FIELDS = struct.Struct("=qqqqq")  # Control in clock_shim.cpp


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def move(memory, word, value):
    version, real, start, shown, ppm = FIELDS.unpack(memory[:FIELDS.size])
    at = now()
    shown, start = shown + (at - start) * ppm // 1000000, at
    if word == "true":
        real, shown, ppm = 0, at, 1000000
    elif word == "real":
        real += int(value * 1e9)
    elif word == "boot":
        shown += int(value * 1e9)
    elif word == "speed":
        ppm = int(value * 1e6)
    else:
        sys.exit(__doc__)
    memory[:8] = struct.pack("=q", version + 1)
    memory[8:FIELDS.size] = FIELDS.pack(0, real, start, shown, ppm)[8:]
    memory[:8] = struct.pack("=q", version + 2)


def main():
    path, word, *values = sys.argv[1:]
    if not os.path.exists(path):
        with open(path + ".new", "wb") as file:
            file.write(FIELDS.pack(0, 0, now(), now(), 1000000))
        os.rename(path + ".new", path)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), FIELDS.size) as memory:
        for number, value in enumerate(values or ["0"]):
            if number:
                time.sleep(0.1)
            move(memory, word, float(value))


main()
