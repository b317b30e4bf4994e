#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A command that writes to a resource which checks the fencing token, until it is ended.

    fenced_writer.py DATABASE LOG WHO

The resource is a row of an SQLite file. A write changes it only if its token is not smaller than the
token of the last write.
LOG gets a line `WHO accepted` or `WHO refused` for each try.
"""
import os
import sqlite3
import sys
import time

database, log, who = sys.argv[1:]
token = int(os.environ["DLOCK_TOKEN"])
resource = sqlite3.connect(database, timeout=30, isolation_level=None)
resource.execute("CREATE TABLE IF NOT EXISTS job (id INTEGER PRIMARY KEY, fence INTEGER)")
resource.execute("INSERT OR IGNORE INTO job VALUES (1, 0)")
with open(log, "a", buffering=1, encoding="ascii") as file:
    while True:
        done = resource.execute("UPDATE job SET fence = ?1 WHERE id = 1 AND fence <= ?1", (token,))
        file.write(f"{who} {'accepted' if done.rowcount == 1 else 'refused'}\n")
        time.sleep(0.01)
