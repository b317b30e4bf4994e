# SPDX-License-Identifier: MIT
"""One redis-server, which keeps what it has acknowledged; and independent redis-servers that keep a
lock by a majority. These have no data on disk: one that was killed comes back empty, and has no
vote until the delay has passed. Each client reaches each server through a proxy; the address of a
server is its place in the order, so all have the same leader."""
import time

from members import Alone, Ensemble
from servers import Client, RedisError
from way import ProxyProcess

DELAY = 5  # s, longer than a lease; servers count their uptime in whole seconds


def answers(port):
    try:
        with Client(("127.0.0.1", port), 2) as client:
            return client.call("PING") == "PONG"
    except (OSError, RedisError):
        return False


class Redis(Alone):
    def words(self, number):
        return ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
                "--appendonly", "yes", "--appendfsync", "always"]

    def answers(self, number):
        return answers(self.port)

    def url(self, client=None):
        return f"redis://127.0.0.1:{self.port_of(client)}"


class Quorum(Ensemble):
    faults = ("freeze_member", "freeze_leader", "freeze_minority", "freeze_majority",
              "kill_member", "kill_leader", "kill_minority", "kill_all",
              "blackhole", "drop", "hold", "reset", "cut", "lose_leader")
    options_of_dlock = ("--quorum-delay", f"{DELAY}s")

    def __init__(self, folder):
        self.proxies, self.minority = [], (self.count - 1) // 2
        super().__init__(folder)

    def words(self, number):
        return ["redis-server", "--bind", "127.0.0.1", "--port", str(self.ports[number]),
                "--save", ""]

    def answers(self, number):
        return answers(self.ports[number])

    def leads(self, number):
        return number == 0

    def open_way(self, clients):
        self.proxies = [ProxyProcess(port, clients, f"127.0.0.{number + 1}")
                        for number, port in enumerate(self.ports)]

    def close_way(self):
        for proxy in self.proxies:
            proxy.process.kill()
            proxy.process.wait()

    def url(self, client=None):
        """Without a proxy, all have one address: the order of their ports."""
        if client is None:
            return " ".join(f"redis://127.0.0.1:{port}" for port in self.ports)
        return " ".join(f"redis://127.0.0.{number + 1}:{proxy.ports[client]}"
                        for number, proxy in enumerate(self.proxies))

    def some(self):
        """From one server to all but one."""
        return self.random.sample(self.all(), self.random.randint(1, self.count - 1))

    def on_way(self, client, seconds, *words, to=None):
        proxies = [self.proxies[number] for number in to or self.some()]
        for proxy in proxies:
            proxy.order(client, *words)
        time.sleep(seconds)
        for proxy in proxies:
            proxy.order(client, "pass")

    def lose_leader(self, seconds, _):
        self.on_way("*", seconds, "blackhole", to=[self.leader()])

    def freeze_minority(self, seconds, _):
        self.freeze(self.random.sample(self.all(), self.minority), seconds)

    def freeze_majority(self, seconds, _):
        self.freeze(self.random.sample(self.all(), self.minority + 1), seconds)

    def kill_minority(self, seconds, _):
        self.restart(self.random.sample(self.all(), self.minority), seconds / 3)

    def kill_all(self, seconds, _):
        self.restart(self.all(), seconds / 3)


class QuorumOf3(Quorum):
    count = 3


class QuorumOf5(Quorum):
    count = 5
