# SPDX-License-Identifier: MIT
"""The redis-servers of a chaos run. Each is a child of ours, in a folder of its own, on a free
loopback port or a unix socket, and is ended by its pid."""
import os
import random
import signal
import socket
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support", "programs"))
from resp import Client, RedisError


def free_port():
    """Below the range that the kernel gives to clients, so that nobody takes it in a restart."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Server:
    """The lock server: on TCP, so that MONITOR tells the connections apart; with an append-only
    file that keeps what was acknowledged over a kill -9. `shift` is the file of the clock shim. We
    ourselves use a unix socket, since open() comes after start()."""

    def __init__(self, folder, shim=None, ahead=0):
        """`ahead`: µs of its wall clock before CLOCK_BOOTTIME, which it keeps to with a shim."""
        self.folder, self.shim = folder, shim
        self.shift = os.path.join(folder, "clock")
        self.socket = os.path.join(folder, "redis.sock")
        self.address = None
        self.process = None
        os.makedirs(folder, exist_ok=True)
        with open(self.shift, "wb") as file:
            file.write(bytes(8) + ahead.to_bytes(8, "little", signed=True))

    def start(self):
        """`everysec` would answer before it has written, while the disk is at the last second's."""
        environment = dict(os.environ)
        if self.shim:
            environment |= {"LD_PRELOAD": self.shim, "CHAOS_CLOCK": self.shift}
        with open(os.path.join(self.folder, "redis.log"), "ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", "--port", "0", "--unixsocket", self.socket, "--bind", "127.0.0.1",
                 "--save", "", "--appendonly", "yes", "--appendfsync", "no", "--dir", self.folder],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)
        self.wait_until_up()

    def wait_until_up(self):
        end = time.monotonic() + 60
        while True:
            try:
                with Client(self.socket, 20) as client:
                    client.call("PING")
                return
            except (OSError, RedisError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def open(self):
        """Lets others in, who find it where it was before."""
        for tries in range(10):
            address = self.address or ("127.0.0.1", free_port())
            try:
                with self.client(20) as client:
                    client.call("CONFIG", "SET", "port", address[1])
                self.address = address
                return
            except RedisError:  # somebody has just taken this one
                if self.address or tries == 9:
                    raise

    def client(self, timeout=2.0):
        return Client(self.socket, timeout, name="chaos")

    def kill(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def empty(self):
        """Between kill and start: the next one knows nothing."""
        folder = os.path.join(self.folder, "appendonlydir")
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            os.unlink(os.path.join(folder, name))


class Counter(Server):
    """The second server, outside of all faults, on a unix socket."""

    def __init__(self, folder):
        super().__init__(folder)
        self.address = self.socket

    def start(self):
        with open(os.path.join(self.folder, "redis.log"), "ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "", "--dir",
                 self.folder], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.wait_until_up()
