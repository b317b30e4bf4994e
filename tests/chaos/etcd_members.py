# SPDX-License-Identifier: MIT
"""An etcd of three members, and what goes wrong with them."""
import json
import os
import random
import signal
import subprocess
import time
import urllib.request

from bench import ProxyProcess
from failover import until
from servers import free_port
from way import Way, tell

CLIENTS = 6


class Etcd(Way):
    """Three members; the first is reached through the proxy, the others without it."""

    faults = ("freeze_member", "freeze_leader", "freeze_followers", "kill_member", "kill_leader",
              "blackhole", "drop", "hold", "reset", "cut")

    def __init__(self, folder):
        self.folder = folder
        self.ports = [(free_port(), free_port()) for _ in range(3)]
        self.members = [None] * 3
        self.random = random.Random(self.ports[0][0])
        for number in range(3):
            self.start_member(number)
        until(self.answers, 30, "the members do not answer")
        self.proxy = ProxyProcess(self.ports[0][0], CLIENTS, "raw")

    def start_member(self, number):
        port, peer = self.ports[number]
        cluster = ",".join(f"m{n}=http://127.0.0.1:{p}" for n, (_, p) in enumerate(self.ports))
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.members[number] = subprocess.Popen(
                ["etcd", "--name", f"m{number}", "--data-dir", f"{self.folder}/m{number}",
                 "--listen-client-urls", f"http://127.0.0.1:{port}",
                 "--advertise-client-urls", f"http://127.0.0.1:{port}",
                 "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                 "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                 "--initial-cluster", cluster, "--heartbeat-interval", "50",
                 "--election-timeout", "500"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ask(self, path, port):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v3/{path}", b"{}")
        with urllib.request.urlopen(request, timeout=2) as answer:
            return json.load(answer)

    def answers(self):
        try:
            return all(self.ask("maintenance/status", port).get("leader", "0") != "0"
                       for port, _ in self.ports)
        except OSError:
            return False

    def leader(self):
        for number, (port, _) in enumerate(self.ports):
            try:
                status = self.ask("maintenance/status", port)
            except OSError:
                continue
            if status.get("leader") == status["header"]["member_id"]:
                return number
        return 0

    def url(self, client=None):
        first = self.ports[0][0] if client is None else self.proxy.ports[client]
        return f"etcd://127.0.0.1:{first},127.0.0.1:{self.ports[1][0]},127.0.0.1:{self.ports[2][0]}"

    def freeze(self, numbers, seconds):
        for number in numbers:
            tell(self.members[number].pid, signal.SIGSTOP)
        time.sleep(seconds)
        for number in numbers:
            tell(self.members[number].pid, signal.SIGCONT)

    def freeze_member(self, seconds, _):
        self.freeze([self.random.randrange(3)], seconds)

    def freeze_leader(self, seconds, _):
        self.freeze([self.leader()], seconds)

    def freeze_followers(self, seconds, _):
        leader = self.leader()
        self.freeze([number for number in range(3) if number != leader], seconds)

    def restart(self, number, seconds):
        self.members[number].kill()
        self.members[number].wait()
        time.sleep(seconds / 3)
        self.start_member(number)
        until(self.answers, 30, "the members do not answer")

    def kill_member(self, seconds, _):
        self.restart(self.random.randrange(3), seconds)

    def kill_leader(self, seconds, _):
        self.restart(self.leader(), seconds)

    def stop(self):
        for member in [*self.members, self.proxy.process]:
            member.kill()
            member.wait()
