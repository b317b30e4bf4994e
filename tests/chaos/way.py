# SPDX-License-Identifier: MIT
"""What goes wrong between a client and a server that is not Redis: a proxy with a port for each
client."""
import glob
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def tell(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass  # the thread has ended
    return found


def command_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def group_of(pid):
    """The process group of the command of this dlock; None: it runs none."""
    for child in children(pid):
        try:
            if command_of(child) != "lease-guard" and os.getpgid(child) == child:
                return child
        except ProcessLookupError:
            pass
    return None


def kill_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def until(what, seconds, why):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise RuntimeError(why)
        time.sleep(0.05)


class ProxyProcess:
    def __init__(self, port, clients, *where):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "proxy.py"), str(port), str(clients), *where],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ports = [int(p) for p in self.process.stdout.readline().split()]

    def order(self, who, *words):
        self.process.stdin.write(" ".join(map(str, (who, *words))) + "\n")
        self.process.stdin.flush()


class Way:
    """`proxy` leads to `port`, once it is open."""

    proxy = port = None

    def open_way(self, clients):
        self.proxy = ProxyProcess(self.port, clients, "127.0.0.1", "raw")

    def close_way(self):
        if self.proxy:
            self.proxy.process.kill()
            self.proxy.process.wait()

    def port_of(self, client):
        """For a client the proxy's, for None that of the server."""
        return self.port if client is None else self.proxy.ports[client]

    def on_way(self, client, seconds, *words):
        self.proxy.order(client, *words)
        time.sleep(seconds)
        self.proxy.order(client, "pass")

    def blackhole(self, seconds, client):
        self.on_way(client, seconds, "blackhole")

    def drop(self, seconds, client):
        self.on_way(client, seconds, "drop")

    def hold(self, seconds, client):
        self.on_way(client, seconds, "hold", 700)

    def cut(self, seconds, _):
        self.on_way("*", seconds, "cut", 20)

    def reset(self, seconds, client):
        self.on_way(client, seconds / 3, "reset")
