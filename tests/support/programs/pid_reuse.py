#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gives the numbers of dead commands to innocent processes while their dlocks are still there.

    pid_reuse.py DLOCK COUNT FOLDER    as process 1 of a namespace of its own: unshare -pf

Starts COUNT dlocks that cannot release, because the test cuts them off from the store and then makes
FOLDER/go. Waits until their commands are dead. Then makes the kernel give each of these numbers to an
innocent process, which leads a group of its own, and sends TERM to every dlock. Prints how many
innocent processes there were, and how many got the number of a dead command; fails if one was hit.
"""
import os
import signal
import subprocess
import sys
import time

dlock, count, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            sys.exit("pid_reuse.py: gave up")
        time.sleep(0.02)


def written(path):
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


def dead(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def innocent(wanted):
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
        file.write(str(wanted - 1))
    pid = os.fork()
    if pid == 0:
        os.setsid()
        time.sleep(120)
        os._exit(0)
    return pid


script = 'echo $$ >"$0.new"; mv "$0.new" "$0"; until [ -e "$1" ]; do sleep 0.05; done'
dlocks, pids = [], []
for i in range(count):
    words = ["run", "--ttl", "60s", f"reuse-{i}", "--", "sh", "-c", script]
    dlocks.append(subprocess.Popen([dlock, *words, f"{folder}/pid-{i}", f"{folder}/go"],
                                   stderr=subprocess.DEVNULL))
for i in range(count):
    until(lambda: written(f"{folder}/pid-{i}"))
    pids.append(int(written(f"{folder}/pid-{i}")))
with open(f"{folder}/ready", "w", encoding="ascii"):
    pass
until(lambda: all(dead(pid) for pid in pids))
innocents = [innocent(pid) for pid in pids]
for process in dlocks:
    process.send_signal(signal.SIGTERM)
for process in dlocks:
    process.wait(timeout=60)
hit = [pid for pid in innocents if dead(pid)]
print(f"{len(innocents)} innocents, {len(set(innocents) & set(pids))} with a used number")
sys.exit(f"hit: {hit}" if hit else 0)
