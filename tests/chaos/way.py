# SPDX-License-Identifier: MIT
"""What goes wrong between a client and a server that is not Redis: a proxy with a port for each
client."""
import os
import time


def tell(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Way:
    """`proxy` is a ProxyProcess."""

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
