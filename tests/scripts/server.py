# SPDX-License-Identifier: MIT
"""The redis-server of a run, and the scripts in it."""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import clock
import java

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support", "programs"))
from resp import Client, RedisError

OURS = ("acquire", "renew", "release", "revoke", "leave", "inspect")


def connect(path):
    return Client(path, timeout=60)


class Server:
    """A child of ours in a folder of its own, ended by its pid. With stalls it stands still for 50
    to 400 ms now and then, wherever it is."""

    def __init__(self, stalls=False):
        self.folder = tempfile.mkdtemp(prefix="dlock-scripts-")
        self.path = os.path.join(self.folder, "redis.sock")
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--dir",
             self.folder, "--lua-time-limit", "60000"],
            stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.stall, daemon=True) if stalls else None

    def __enter__(self):
        end = time.monotonic() + 20
        while True:
            try:
                connect(self.path).close()
                break
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    self.__exit__()
                    raise
                time.sleep(0.01)
        if self.thread:
            self.thread.start()
        return self

    def stall(self):
        rng = random.Random(1)
        while not self.over.wait(rng.uniform(0.02, 0.2)):
            self.process.send_signal(signal.SIGSTOP)
            time.sleep(rng.uniform(0.05, 0.4))
            self.process.send_signal(signal.SIGCONT)

    def __exit__(self, *_):
        self.over.set()
        if self.thread and self.thread.is_alive():
            self.thread.join()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)


class Scripts:
    """All scripts in one server: ours from a folder, Redisson's, and those that stop the time."""

    def __init__(self, connection, folder):
        texts = {name: text_of(folder, name) for name in OURS}
        texts |= {"java-" + name: text for name, text in java.SCRIPTS.items()}
        texts |= {"freeze": clock.FREEZE, "thaw": clock.THAW}
        self.connection = connection
        self.sha = {name: connection.call("SCRIPT", "LOAD", text) for name, text in texts.items()}

    def call(self, name, keys, args):
        return "EVALSHA", self.sha[name], len(keys), *keys, *args


def text_of(folder, name):
    """The script with what it includes, as dlock sends it."""
    def read(file):
        with open(os.path.join(folder, file), encoding="utf-8") as text:
            return text.read()
    return re.sub(r"^-- include: (\S+)$", lambda line: read(line[1]), read(name + ".lua"),
                  flags=re.M)
