#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A cron with one job.

    modes_cron.py PERIOD FIRST TICKS -- COMMAND...

Starts COMMAND TICKS times: when its wall clock comes to FIRST * PERIOD seconds, and at each multiple
of PERIOD after that. COMMAND gets the number of the tick as CRON_TICK. Prints a line for each tick.
"""
import os
import subprocess
import sys
import time


def main():
    at = sys.argv.index("--")
    period, first, ticks = (int(word) for word in sys.argv[1:at])
    for tick in range(first, first + ticks):
        while time.time() < tick * period:
            time.sleep(min(0.05, max(tick * period - time.time(), 0)))
        print(f"started tick {tick} at {time.time():.3f} by its own clock", flush=True)
        subprocess.run(sys.argv[at + 1:], env={**os.environ, "CRON_TICK": str(tick)}, check=True)


main()
