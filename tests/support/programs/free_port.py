#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints a TCP port that no process uses, and that no other process gets before the server starts.

The port comes from a counter, which all tests of this user share. It stays below the ports that the
kernel chooses by itself, and low enough for the bus of a cluster node, whose port is 10000 higher.
"""
import fcntl
import os
import random
import socket
import sys

FIRST, COUNT = 10000, 10000
COUNTER = f"/tmp/dlock-test-port-{os.getuid()}"


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def port_after(last):
    for i in range(1, COUNT + 1):
        port = FIRST + (last - FIRST + i) % COUNT
        if is_free(port):
            return port
    sys.exit("no port is free")


def counted(descriptor):
    with open(descriptor, "r+", encoding="ascii", errors="replace") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        last = file.read(9).strip()
        port = port_after(int(last) if last.isdecimal() else random.randrange(COUNT))
        file.seek(0)
        file.write(f"{port}\n")
        file.truncate()
    return port


try:
    print(counted(os.open(COUNTER, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)))
except OSError:  # the counter's file belongs to another user
    print(port_after(random.randrange(COUNT)))
