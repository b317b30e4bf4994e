# SPDX-License-Identifier: MIT
"""A fleet of real processes on one server of each store: holders with a lock each, and as many
waiters in lines of ten. What they cost the server while nothing happens, and what becomes of them
when the server is killed and comes back at once: all connect at the same time.

The processes share the processors with the server, which would have a machine of its own. So root
gives it a real-time priority: else it starves when thousands of clients connect again. A fleet that
is too large for the machine still shows how clients starve, not what the server carries."""

import os
import resource
import subprocess
import time

import traffic
from idle import private_kib
from line import wait_until
from setting import end_all, quiet, tell

PER_LINE = 10  # waiters for one lock
LEASE = 30  # seconds, the default
MOST = {"Redis, AOF everysec": 5000}  # of other stores: OTHERS
OTHERS = 300
TASKS = 6  # processes and threads of a holder, its guard and command, and a waiter, at most
CONNECTIONS = 4  # to the server, of a holder and a waiter, at most
LIMIT = 400  # seconds
SETTLE = 15  # seconds until all are at rest: a waiter looks often at first
AFTER = 5  # seconds after all are back: so long it is seen who gives up


def connections(port):
    said = subprocess.run(["ss", "-tnH", "state", "established", f"( dport = :{port} )"],
                          capture_output=True, text=True, check=True).stdout
    return said.count("\n")


def cpu_s(pids):
    """Processor time of all threads of these processes so far, in seconds."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            ticks += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


class Fleet:
    """`count` holders and as many waiters."""

    def __init__(self, one, count):
        self.one, self.holders, self.waiters = one.leased(LEASE), [], []
        self.count = count

    def start(self, processes, locks, *command):
        for number, lock in enumerate(locks):
            processes.append(quiet(self.one.command(lock, *command), self.one.environment))
            if number % 20 == 19:
                time.sleep(0.1)  # a server has a queue of so many new connections

    def connections(self):
        return connections(self.one.server.port)

    def come(self):
        """Whether all have come: each process has a connection, and their number is at rest."""
        self.start(self.holders, [f"h{n}" for n in range(self.count)], "sleep", "3600")
        wait_until(lambda: self.connections() >= self.count, LIMIT)
        self.start(self.waiters, [f"h{n // PER_LINE}" for n in range(self.count)], "true")
        here = wait_until(lambda: self.connections() >= 2 * self.count, LIMIT)
        time.sleep(SETTLE)
        return here

    def ended(self, processes):
        return sum(process.poll() is not None for process in processes)

    def at_rest(self, seconds):
        pids = self.one.server.pids(self.one.server.all())
        first, before, since = traffic.connections(), cpu_s(pids), time.monotonic()
        time.sleep(seconds)
        spent, cpu, last = time.monotonic() - since, cpu_s(pids) - before, traffic.connections()
        clients = {pid for pid, _ in last} - set(pids)
        return {"connections": self.connections(),
                "server_mib": sum(map(private_kib, pids)) / 1024,
                "messages_per_s": traffic.between(first, last, clients)["messages"] / spent,
                "server_percent": 100 * cpu / spent}

    def restart(self):
        """The server is killed and started at once; back: as many connections as before."""
        before, since = self.connections(), time.monotonic()
        self.one.server.restart(self.one.server.all(), 0)
        whole = time.monotonic()
        back = wait_until(lambda: self.connections() >= 0.99 * before, LIMIT)
        result = {"down_s": whole - since,
                  "back_s": time.monotonic() - whole if back else f"not in {LIMIT} s"}
        time.sleep(AFTER)
        return result

    def stop(self):
        tell([process.pid for process in self.waiters + self.holders if process.poll() is None], 15)
        end_all(self.waiters + self.holders, 60)


def of_one(one, count, seconds):
    server = one.server
    if os.geteuid() == 0:
        server.change = ["chrt", "--rr", "1", *server.change]
        server.restart(server.all(), 0)
    fleet = Fleet(one, count)
    try:
        if not fleet.come():
            return {"failed": f"{fleet.connections()} connections of {2 * count} clients"}
        result = {"clients": 2 * count, **fleet.at_rest(seconds), **fleet.restart()}
        return {**result, "stopped": fleet.ended(fleet.holders),
                "gave_up": fleet.ended(fleet.waiters)}
    finally:
        fleet.stop()


def fleet(stores, amount):
    """name -> what the fleet costs, and what becomes of it."""
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as f:
        most = min(amount.processes, int(f.read()) // TASKS,
                   (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 400) // CONNECTIONS)
    return {one.name: {"survives": one.survives,
                       **of_one(one, min(most, MOST.get(one.store, OTHERS)), amount.at_rest)}
            for one in stores.rows if one.store and one.server.count == 1
            and one.store != "Redis, AOF always"}
