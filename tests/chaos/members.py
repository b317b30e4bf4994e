# SPDX-License-Identifier: MIT
"""Three servers that are one store, and what goes wrong with them."""
import random
import signal
import time

from bench import ProxyProcess
from failover import until
from way import Way, tell

CLIENTS = 6


class Members(Way):
    """The first is reached through the proxy, the others without it. `ports` are those for clients."""

    faults = ("freeze_member", "freeze_leader", "freeze_followers", "kill_member", "kill_leader",
              "blackhole", "drop", "hold", "reset", "cut")

    def __init__(self, folder, ports):
        self.folder, self.ports = folder, ports
        self.members = [None] * len(ports)
        self.random = random.Random(ports[0])
        for number in range(len(ports)):
            self.start_member(number)
        until(self.answers, 60, "the members do not answer")
        self.proxy = ProxyProcess(ports[0], CLIENTS, "raw")

    def url(self, client=None):
        first = self.ports[0] if client is None else self.proxy.ports[client]
        return self.scheme + "://" + ",".join(
            f"127.0.0.1:{port}" for port in (first, *self.ports[1:]))

    def freeze(self, numbers, seconds):
        for number in numbers:
            tell(self.members[number].pid, signal.SIGSTOP)
        time.sleep(seconds)
        for number in numbers:
            tell(self.members[number].pid, signal.SIGCONT)

    def freeze_member(self, seconds, _):
        self.freeze([self.random.randrange(len(self.ports))], seconds)

    def freeze_leader(self, seconds, _):
        self.freeze([self.leader()], seconds)

    def freeze_followers(self, seconds, _):
        leader = self.leader()
        self.freeze([n for n in range(len(self.ports)) if n != leader], seconds)

    def restart(self, number, seconds):
        self.members[number].kill()
        self.members[number].wait()
        time.sleep(seconds / 3)
        self.start_member(number)
        until(self.answers, 60, "the members do not answer")

    def kill_member(self, seconds, _):
        self.restart(self.random.randrange(len(self.ports)), seconds)

    def kill_leader(self, seconds, _):
        self.restart(self.leader(), seconds)

    def stop(self):
        for process in [*self.members, self.proxy.process]:
            process.kill()
            process.wait()
