# SPDX-License-Identifier: MIT
"""Records what the lock server does: its MONITOR stream, line by line, in a file, with a snapshot
of the locks each time the server has been restarted. Reading it back turns the server's clock into
BOOTTIME, steps of that clock (class B) included."""
import json
import threading
import time

from state import role_of


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def wall_to_boot():
    """ns to add to CLOCK_REALTIME, in whole µs; the closest of a few readings."""
    best = None
    for _ in range(9):
        before = boot_ns()
        wall = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = boot_ns()
        if best is None or after - before < best[0]:
            best = (after - before, (before + after) // 2 - wall)
    return best[1] // 1000 * 1000


def hash_of(client, key):
    pairs = client.call("HGETALL", key)
    return dict(zip(pairs[::2], pairs[1::2]))


class Clock:
    """µs of the server's clock as BOOTTIME. `steps`: (BOOTTIME, ns that it is ahead from then)."""

    def __init__(self, offset, steps=()):
        self.offset, self.steps = offset, [(0, 0), *steps]

    def __call__(self, server_us):
        plain = server_us * 1000 + self.offset
        for i, (since, ahead) in enumerate(self.steps):
            until = self.steps[i + 1][0] if i + 1 < len(self.steps) else None
            if until is None or plain - ahead < until:
                return max(plain - ahead, since)
        return plain


class Monitor:
    """attach() before the server is open to anybody else; the stream ends with the server."""

    def __init__(self, server, path):
        self.server = server
        self.file = open(path, "w", encoding="utf-8", errors="replace")
        self.client = self.thread = None
        self.lock = threading.Lock()

    def attach(self):
        self.detach()
        with self.server.client(20) as asker:
            state = self.snapshot(asker)
        self.client = self.server.client(timeout=None)
        self.client.call("MONITOR")
        with self.lock:
            self.file.write("# snapshot " + json.dumps(state) + "\n")
        self.thread = threading.Thread(target=self.copy, args=(self.client,), daemon=True)
        self.thread.start()

    def detach(self):
        """Waits for the end of the stream of a server that is gone."""
        if self.thread:
            self.thread.join(10)

    @staticmethod
    def snapshot(client):
        """Expiries as times: what is left of them would be less with each question."""
        locks = {}
        for key in client.call("KEYS", "*dlock:*"):
            name, role = role_of(key)
            if not name or (role == "lock" and client.call("TYPE", key) != "hash"):
                continue
            lock = locks.setdefault(name, {"fields": {}, "ends": -2, "holds": {}, "leases": {},
                                           "line": {}, "waiters": {}})
            if role == "lock":
                lock |= {"fields": hash_of(client, key), "ends": client.call("PEXPIRETIME", key)}
            elif role == "holds":
                lock["holds"] = hash_of(client, key)
            elif role == "lease":
                lock["leases"][key] = client.call("PEXPIRETIME", key)
            elif role in ("line", "waiters"):
                pairs = client.call("ZRANGE", key, 0, -1, "WITHSCORES")
                lock[role] = {w: int(n) for w, n in zip(pairs[::2], pairs[1::2])}
        now = client.call("TIME")
        return {"now": int(now[0]) * 1_000_000 + int(now[1]), "locks": locks}

    def copy(self, client):
        try:
            while line := client.file.readline():
                with self.lock:
                    self.file.write(line.decode(errors="replace").removeprefix("+"))
        except (OSError, ValueError):
            pass

    def finish(self):
        """All that the server did so far is in the file afterwards."""
        mark = str(boot_ns())
        with self.server.client() as client:
            client.call("ECHO", mark)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with self.lock:
                self.file.flush()
            with open(self.file.name, encoding="utf-8", errors="replace") as file:
                file.seek(max(0, self.file.tell() - 4096))
                if mark in file.read():
                    return
            time.sleep(0.05)
        raise RuntimeError("MONITOR does not keep up")
