# SPDX-License-Identifier: MIT
"""An etcd of three members."""
import json
import urllib.request

from members import Ensemble
from servers import free_port


class Etcd(Ensemble):
    options = ("--heartbeat-interval", "50", "--election-timeout", "500")

    def __init__(self, folder):
        self.peers = [free_port() for _ in self.all()]
        super().__init__(folder)

    def words(self, number):
        client, peer = (f"http://127.0.0.1:{ports[number]}" for ports in (self.ports, self.peers))
        cluster = ",".join(f"m{n}=http://127.0.0.1:{port}" for n, port in enumerate(self.peers))
        return ["etcd", "--name", f"m{number}", "--data-dir", "data",
                "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", cluster, *self.options]

    def status(self, number):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.ports[number]}/v3/maintenance/status", b"{}")
        try:
            with urllib.request.urlopen(request, timeout=2) as answer:
                return json.load(answer)
        except OSError:
            return {}

    def answers(self, number):
        return self.status(number).get("leader", "0") != "0"

    def leads(self, number):
        status = self.status(number)
        return bool(status) and status.get("leader") == status["header"]["member_id"]

    def url(self, client=None):
        return f"etcd://{self.hosts(client)}"
