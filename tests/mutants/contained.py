#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""contained.py SECONDS COMMAND…: runs COMMAND for at most SECONDS; leaves no process of it behind.

A mutant may forget to kill what it should: everything that COMMAND started, in whatever group or
session, becomes our child when its parent ends (subreaper) and is killed. Exit status: COMMAND's,
or 124 if its time was over.
"""
import ctypes
import os
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def children():
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", "rb") as stat:
                if int(stat.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    yield int(entry)
        except (OSError, ValueError, IndexError):
            continue  # no process, or one that has just ended


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    command = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        status = command.wait(float(sys.argv[1]))
    except subprocess.TimeoutExpired:
        status = 124
    except KeyboardInterrupt:
        status = 130
    while left := list(children()):
        for pid in left:
            os.kill(pid, signal.SIGKILL)  # ours until it is waited for: never a stranger
        for pid in left:
            os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)
    sys.exit(status if status >= 0 else 128 - status)


main()
