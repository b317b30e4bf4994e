#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A lock wrapper as it is often written: SET NX with an expiry, the command, DEL; the token comes
from a counter beside it. It takes the words of `dlock run` and heeds a few. The chaos run must
accuse it."""
import os
import subprocess
import sys
import time

from servers import Client, RedisError

VALUE = {"--log-format", "--ttl", "-k", "--url", "-w", "--result-file", "--on-lost"}


def main(words):
    options, rest = {}, words[1:]
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        options[option] = rest.pop(0) if option in VALUE else True
    if words[:1] != ["run"] or "--help" in options:
        return 0
    host, port = options["--url"].removeprefix("redis://").split(":")
    end = time.monotonic() + float(options.get("-w", "5s").rstrip("s"))
    key, command = "dlock:" + rest[0], rest[2:]
    ttl = options.get("--ttl", "1000ms").removesuffix("ms")
    owner = f"naive:{os.getpid()}"
    while True:
        try:
            client = Client((host, int(port)), timeout=1.0)
            if client.call("SET", key, owner, "NX", "PX", ttl):
                break
        except (OSError, RedisError):
            pass
        if time.monotonic() > end:
            return 75
        time.sleep(0.01)
    token = client.call("INCR", "token:" + rest[0])
    status = subprocess.run(command, check=False, env=os.environ | {
        "DLOCK_TOKEN": str(token), "DLOCK_NAME": rest[0], "DLOCK_OWNER": owner}).returncode
    client.call("DEL", key)
    return status


try:
    sys.exit(main(sys.argv[1:]))
except (OSError, RedisError):
    sys.exit(69)
