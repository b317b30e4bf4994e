#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command while DIRECTORY is a FUSE file system, empty and without any operation but looking.

    unshare -m fuse_mount.py DIRECTORY COMMAND [ARG...]

It speaks the kernel's protocol itself (linux/fuse.h), so that no package is needed. It exits as the
command does; the mount goes with the mount namespace.
"""

import ctypes
import errno
import os
import struct
import sys
import threading

GETATTR, STATFS, INIT, OPENDIR, DESTROY = 3, 17, 26, 27, 38
# A directory for everybody, with the sticky bit.
ATTRIBUTES = struct.pack("<6Q10I", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0, 4096, 0)
ANSWERS = {
    INIT: struct.pack("<4I2H3I", 7, 31, 0, 0, 16, 12, 4096, 1, 0) + bytes(32),
    GETATTR: struct.pack("<Q2I", 60, 0, 0) + ATTRIBUTES,
    OPENDIR: bytes(16),
    STATFS: struct.pack("<5Q4I", 0, 0, 0, 0, 0, 4096, 255, 4096, 0) + bytes(24),
    DESTROY: b"",
}


def serve(device):
    while True:
        request = os.read(device, 1 << 17)
        _, operation, unique = struct.unpack_from("<2IQ", request)
        answer = ANSWERS.get(operation)
        error = 0 if answer is not None else -errno.ENOSYS
        answer = answer or b""
        os.write(device, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)


def main():
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"test", sys.argv[1].encode(), b"fuse.test", 0, options.encode()) != 0:
        sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")
    threading.Thread(target=serve, args=[device], daemon=True).start()
    status = os.spawnvp(os.P_WAIT, sys.argv[2], sys.argv[2:])
    os._exit(status if status >= 0 else 128 - status)


main()
