#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A lock wrapper as it is often written: SET NX with an expiry, the command, DEL; the token comes
from a counter beside it. Readers look whether a writer is there and count themselves, slots are
keys with a number, several names are taken one after the other. It takes the words of `dlock run`
and heeds a few. The chaos run must accuse it."""
import os
import subprocess
import sys
import time

from servers import Client, RedisError

VALUE = {"--log-format", "--ttl", "-k", "--url", "-w", "--result-file", "--on-lost", "--slots",
         "--max-waiters"}


class Busy(Exception):
    """No luck in time."""


class Naive:
    def __init__(self, options, end):
        self.options, self.end = options, end
        host, port = options["--url"].removeprefix("redis://").split(":")
        self.address = (host, int(port))
        self.ttl = options.get("--ttl", "1000ms").removesuffix("ms")
        self.client = None

    def take(self, name):
        """The key that is to be deleted, and the slot."""
        while time.monotonic() < self.end:
            try:
                self.client = Client(self.address, timeout=1.0)
                if taken := self.try_once("dlock:" + name):
                    return taken
            except (OSError, RedisError):
                pass
            time.sleep(0.01)
        raise Busy

    def try_once(self, key):
        if "-s" in self.options:
            if self.client.call("EXISTS", key):
                return None
            self.client.call("INCR", key + ".readers")
            self.client.call("PEXPIRE", key + ".readers", self.ttl)
            return key + ".readers", "-"
        if self.client.call("EXISTS", key + ".readers"):
            return None
        for slot in range(int(self.options.get("--slots", 1))):
            mine = f"{key}.{slot}" if "--slots" in self.options else key
            if self.client.call("SET", mine, "naive", "NX", "PX", self.ttl):
                return mine, str(slot)
        return None


def main(words):
    options, others, rest = {}, [], words[1:]
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--and":
            others.append(rest.pop(0))
        else:
            options[option] = rest.pop(0) if option in VALUE else True
    if words[:1] != ["run"] or "--help" in options:
        return 0
    names, command = [rest[0], *others], rest[2:]  # NAME -- CMD
    naive = Naive(options, time.monotonic() + float(options.get("-w", "5s").rstrip("s")))
    try:
        taken = [naive.take(name) for name in names]
    except Busy:
        return 75
    tokens = [str(naive.client.call("INCR", "token:" + name)) for name in names]
    mode = "shared" if "-s" in options else "slots" if "--slots" in options else "plain"
    status = subprocess.run(command, check=False, env=os.environ | {
        "DLOCK_TOKEN": " ".join(tokens), "DLOCK_NAME": " ".join(names), "DLOCK_MODE": mode,
        "DLOCK_SLOT": taken[0][1], "DLOCK_OWNER": f"naive:{os.getpid()}"}).returncode
    for key, _ in taken:
        naive.client.call("DEL", key)
    return status


try:
    sys.exit(main(sys.argv[1:]))
except (OSError, RedisError):
    sys.exit(69)
