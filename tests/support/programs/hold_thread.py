#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds single threads of a process as a debugger would, until it is killed.

    hold_thread.py TID...

Prints `held` when all these threads stand still. Unlike SIGSTOP this can stop one thread of several,
and the parent of the process is not told. When hold_thread.py ends, the threads run on.
"""
import ctypes
import os
import signal
import sys

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WALL = 0x40000000  # waitpid(2): threads too
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def main():
    for tid in map(int, sys.argv[1:]):
        for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
            if libc.ptrace(request, tid, None, None) != 0:
                sys.exit(f"cannot trace {tid}: {os.strerror(ctypes.get_errno())}")
        os.waitpid(tid, WALL)
    print("held", flush=True)
    # The kernel reports the end of these threads to us first, and to their parent only when we
    # have taken the report.
    signal.alarm(120)
    for tid in map(int, sys.argv[1:]):
        os.waitpid(tid, WALL)


main()
