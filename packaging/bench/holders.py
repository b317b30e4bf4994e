# SPDX-License-Identifier: MIT
"""Many holders, each of a name of its own, on one server: real ones."""

import time

from figures import figure
from idle import guard_of
from line import wait_until
from machine import pss_kib, server_ms
from recorded import Client
from setting import end, quiet

WINDOW = 10.0  # seconds: each renews once
SAMPLE = 50  # of them, whose memory is read


def start(one, servers, count):
    """They are ready when each has its two connections: it watches its lock after a second."""
    wanted = int(servers.info("clients")["connected_clients"]) + 2 * count
    held = []
    for i in range(count):
        held.append(quiet(one.command(f"held-{i:05d}", "sleep", "600"), one.environment))
        if i % 10 == 9:
            time.sleep(0.02)
    here = wait_until(lambda: int(servers.info("clients")["connected_clients"]) >= wanted, 40)
    return held, here


def memory(servers):
    return int(servers.info("memory")["used_memory"])


def key_bytes(servers, name):
    """Of all keys of one lock."""
    with Client(("127.0.0.1", servers.redis)) as client:
        return sum(client.call("MEMORY", "USAGE", key) for key in client.call("KEYS", f"*{name}*"))


def many(one, servers, count):
    base = memory(servers)
    held, here = start(one, servers, count)
    try:
        if not here:
            return {str(count): {"failed": f"not all of {count} came to hold"}}
        time.sleep(4)  # the server frees the buffers of connections that are idle for two
        used = memory(servers) - base
        sent, cpu, since = servers.sent(), server_ms(servers.redis_pid), time.monotonic()
        time.sleep(WINDOW)
        spent = time.monotonic() - since
        result = {"commands_per_s": (servers.sent() - sent) / spent,
                  "server_percent": (server_ms(servers.redis_pid) - cpu) / spent / 10}
        result["lock_bytes"] = figure([key_bytes(servers, "held-00000")])
        sample = held[::max(1, count // SAMPLE)]
        result["pss_kib"] = figure([pss_kib(each.pid) for each in sample])
        result["guard_pss_kib"] = figure([pss_kib(guard_of(each.pid)) for each in sample])
    finally:
        end(held, 60)
    return {str(count): {**result, "server_bytes": figure([used / count]),
                         "bytes_left": figure([key_bytes(servers, "held-00000")])}}
