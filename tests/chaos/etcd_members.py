# SPDX-License-Identifier: MIT
"""An etcd of three members."""
import json
import os
import subprocess
import urllib.request

from members import Members
from servers import free_port


class Etcd(Members):
    scheme = "etcd"

    def __init__(self, folder):
        self.peers = [free_port() for _ in range(3)]
        super().__init__(folder, [free_port() for _ in range(3)])

    def start_member(self, number):
        port, peer = self.ports[number], self.peers[number]
        cluster = ",".join(f"m{n}=http://127.0.0.1:{p}" for n, p in enumerate(self.peers))
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
                       for port in self.ports)
        except OSError:
            return False

    def leader(self):
        for number, port in enumerate(self.ports):
            try:
                status = self.ask("maintenance/status", port)
            except OSError:
                continue
            if status.get("leader") == status["header"]["member_id"]:
                return number
        return 0
