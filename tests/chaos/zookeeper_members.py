# SPDX-License-Identifier: MIT
"""A ZooKeeper of three servers. Their ticks are short, so that sessions end on time."""
import os
import socket
import subprocess

from members import Members
from servers import free_port

JARS = ("zookeeper", "slf4j-simple", "netty-codec", "netty-resolver")
JAVA = ["java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dzookeeper.preAllocSize=64",
        "-Dznode.container.checkIntervalMs=1000",
        "-cp", ":".join(f"/usr/share/java/{jar}.jar" for jar in JARS),
        "org.apache.zookeeper.server.quorum.QuorumPeerMain"]


class Zookeeper(Members):
    scheme = "zookeeper"

    def __init__(self, folder):
        ports = [free_port() for _ in range(3)]
        servers = [f"server.{n}=127.0.0.1:{free_port()}:{free_port()}" for n in range(1, 4)]
        for number, port in enumerate(ports):
            place = f"{folder}/m{number}"
            os.makedirs(f"{place}/data")
            with open(f"{place}/data/myid", "w", encoding="ascii") as file:
                file.write(f"{number + 1}\n")
            with open(f"{place}/zoo.cfg", "w", encoding="ascii") as file:
                file.write("\n".join([
                    "tickTime=200", "maxSessionTimeout=40000", "initLimit=50", "syncLimit=20",
                    "admin.enableServer=false", "4lw.commands.whitelist=srvr",
                    f"dataDir={place}/data", "clientPortAddress=127.0.0.1", f"clientPort={port}",
                    *servers, ""]))
        super().__init__(folder, ports)

    def start_member(self, number):
        place = f"{self.folder}/m{number}"
        with open(f"{place}/log", "ab") as log:
            self.members[number] = subprocess.Popen([*JAVA, f"{place}/zoo.cfg"], stdout=log,
                                                    stdin=subprocess.DEVNULL, stderr=log)

    @staticmethod
    def mode(port):
        said = b""
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as connection:
                connection.sendall(b"srvr")
                while more := connection.recv(4096):
                    said += more
        except OSError:
            return ""
        return said.decode().partition("Mode: ")[2].partition("\n")[0]

    def answers(self):
        return all(self.mode(port) for port in self.ports)

    def leader(self):
        modes = [self.mode(port) for port in self.ports]
        return modes.index("leader") if "leader" in modes else 0
