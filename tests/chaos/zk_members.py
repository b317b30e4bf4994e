# SPDX-License-Identifier: MIT
"""A ZooKeeper of three servers."""
import os
import socket

from members import Ensemble
from servers import free_port

JARS = ":".join(f"/usr/share/java/{name}.jar"
                for name in ("zookeeper", "slf4j-simple", "netty-codec", "netty-resolver"))


class Zookeeper(Ensemble):
    tick = 200  # ms; a session lasts two of them at least

    def __init__(self, folder):
        self.peers = [(free_port(), free_port()) for _ in self.all()]
        super().__init__(folder)

    def make(self, number):
        place = self.place(number)
        lines = [f"tickTime={self.tick}", "maxSessionTimeout=40000", "initLimit=10", "syncLimit=5",
                 "admin.enableServer=false", "4lw.commands.whitelist=srvr", "maxClientCnxns=0",
                 "dataDir=data", "clientPortAddress=127.0.0.1", f"clientPort={self.ports[number]}"]
        if self.count > 1:
            lines += [f"server.{n}=127.0.0.1:{to}:{vote}" for n, (to, vote) in
                      enumerate(self.peers, 1)]
        os.mkdir(f"{place}/data")
        for name, text in (("zoo.cfg", "\n".join(lines)), ("data/myid", str(number + 1))):
            with open(f"{place}/{name}", "w", encoding="ascii") as file:
                file.write(text + "\n")

    def words(self, number):
        return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:-UsePerfData",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", JARS,
                "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"]

    def status(self, number):
        """Of "srvr": name -> value."""
        try:
            with socket.create_connection(("127.0.0.1", self.ports[number]), 2) as way:
                way.settimeout(2)
                way.sendall(b"srvr")
                with way.makefile(encoding="utf-8") as answer:
                    return dict(line.strip().split(": ", 1) for line in answer if ": " in line)
        except OSError:
            return {}

    def answers(self, number):
        return "Mode" in self.status(number)

    def leads(self, number):
        return self.status(number).get("Mode") == "leader"

    def url(self, client=None):
        return f"zookeeper://{self.hosts(client)}"
