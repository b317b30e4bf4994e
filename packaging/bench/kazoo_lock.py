# SPDX-License-Identifier: MIT
"""kazoo_lock.py HOSTS TIMEOUT NAME COMMAND…: runs a command under a lock of kazoo."""

import subprocess
import sys

from kazoo.client import KazooClient

hosts, timeout, name, *command = sys.argv[1:]
client = KazooClient(hosts=hosts, timeout=float(timeout))
client.start()
with client.Lock(f"/kazoo/{name}"):
    status = subprocess.call(command)
client.stop()
sys.exit(status)
