# SPDX-License-Identifier: MIT
"""What processes send and receive over TCP, as the kernel counts it for each connection (ss)."""

import re
import subprocess

COUNTS = {"messages": "data_segs_out", "sent": "bytes_sent", "received": "bytes_received"}


def connections():
    """(pid, local address) -> its counts, of all established connections."""
    said = subprocess.run(["ss", "-tinpOH", "state", "established"], capture_output=True, text=True,
                          check=True).stdout
    found = {}
    for line in said.splitlines():
        counts = {name: re.search(rf"\b{word}:(\d+)", line) for name, word in COUNTS.items()}
        for pid in re.findall(r"\bpid=(\d+)", line):
            found[int(pid), line.split()[2]] = {name: int(count[1]) if count else 0
                                                for name, count in counts.items()}
    return found


def between(first, last, pids):
    """What these processes sent and received; a connection that is new began with nothing."""
    total = dict.fromkeys(COUNTS, 0)
    for (pid, address), counts in last.items():
        if pid in pids:
            before = first.get((pid, address), {})
            for name, count in counts.items():
                total[name] += count - before.get(name, 0)
    return total
