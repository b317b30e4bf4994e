# SPDX-License-Identifier: MIT
"""The redis-servers of a chaos run, and a small client for them. Each server is a child of ours, in
a folder of its own, on a free loopback port or a unix socket, and is ended by its pid."""
import os
import random
import signal
import socket
import subprocess
import time


class RedisError(Exception):
    """An error reply."""


class Client:
    """One connection. Any trouble is an OSError (or RedisError for an error reply)."""

    def __init__(self, address, timeout=2.0, name=None):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.file = self.socket.makefile("rb")
        self.local = self.socket.getsockname()
        if name:
            self.call("CLIENT", "SETNAME", name)

    def call(self, *words):
        self.send(*words)
        return self.reply()

    def send(self, *words):
        raw = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(raw) +
                            b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in raw))

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server went away")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            raise RedisError(rest.decode(errors="replace"))
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode(
                errors="replace")
        return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]

    def close(self):
        self.file.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


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
    file that keeps what was acknowledged over a kill -9. `shift` is the file of the clock shim."""

    def __init__(self, folder, shim=None):
        self.folder, self.shim = folder, shim
        self.shift = os.path.join(folder, "clock")
        self.address = ("127.0.0.1", free_port())
        self.process = None
        os.makedirs(folder, exist_ok=True)
        with open(self.shift, "wb") as file:
            file.write(bytes(8))

    def start(self):
        environment = dict(os.environ)
        if self.shim:
            environment |= {"LD_PRELOAD": self.shim, "CHAOS_CLOCK": self.shift}
        with open(os.path.join(self.folder, "redis.log"), "ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", "--port", str(self.address[1]), "--bind", "127.0.0.1",
                 "--save", "", "--appendonly", "yes", "--appendfsync", "everysec",
                 "--dir", self.folder],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)
        self.wait_until_up()

    def wait_until_up(self):
        end = time.monotonic() + 20
        while True:
            try:
                with Client(self.address) as client:
                    client.call("PING")
                return
            except (OSError, RedisError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def client(self, timeout=2.0):
        return Client(self.address, timeout, name="chaos")

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
        self.address = os.path.join(folder, "counter.sock")

    def start(self):
        with open(os.path.join(self.folder, "redis.log"), "ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", "--port", "0", "--unixsocket", self.address, "--save", "", "--dir",
                 self.folder], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.wait_until_up()
