# SPDX-License-Identifier: MIT
"""What a network costs: a run, a hand-off, and a hold with a short lease, in each store, with its
server so many milliseconds away."""

import contextlib
import copy
import os
import subprocess
import sys
import time

import line
from figures import figure, median
from setting import quiet
from single import WARM_UP, run_once

ROUND_TRIPS_MS = (0, 0.5, 20)
SHORT_LEASE = 2  # seconds: a busy machine does not end it
HELD = 5  # seconds, with the short lease
COMES_MS = 200


class Far:
    """The rows of the stores with one server, which is so far away."""

    def __init__(self, rows, trip_ms):
        self.proxies, self.rows, self.trip_ms = [], [], trip_ms
        for one in rows:
            port = one.server.port
            proxy = subprocess.Popen(
                [sys.executable, os.path.join(os.path.dirname(__file__), "far_proxy.py"), str(port),
                 str(trip_ms)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.proxies.append(proxy)
            far = copy.copy(one)
            far.name = far.word = f"{one.word}-{trip_ms}"
            far.near = one
            far.pause_us = COMES_MS * 1000  # so long one needs that comes to wait
            far.environment = {**one.environment, "DLOCK_URL": one.environment["DLOCK_URL"].replace(
                f":{port}", f":{proxy.stdout.readline().strip()}")}
            self.rows.append(far)

    def close(self):
        for proxy in self.proxies:
            proxy.stdin.close()
            proxy.wait()


def runs(far, rounds):
    """row -> milliseconds of runs of true, the rows in turns."""
    found = {one: [] for one in far.rows}
    for round_ in range(rounds + WARM_UP):
        for one in far.rows:
            took = run_once(one.command("far", "true"), one.environment)[0]
            if round_ >= WARM_UP:
                found[one].append(took)
    return found


def holds(far):
    """row -> the exit status of a command of HELD seconds with the short lease."""
    started = {one: quiet(one.leased(SHORT_LEASE).command("short", "sleep", str(HELD)),
                          one.environment) for one in far.rows}
    return {one: process.wait(HELD + 20) for one, process in started.items()}


def network(stores, stamp, folder, amount):
    """name -> its figures at each distance; the round trips of a run follow from the longest."""
    rows = [one for one in stores.rows if one.store and one.server.count == 1]
    result = {one.name: {"survives": one.survives} for one in rows}
    for trip in ROUND_TRIPS_MS:
        with contextlib.closing(Far(rows, trip)) as far:
            for one, took in runs(far, max(3, amount.rounds // 15)).items():
                result[one.near.name][f"run_{trip}"] = figure(took)
            for one, status in holds(far).items():
                result[one.near.name][f"short_{trip}"] = status
            place = f"{folder}/far-{trip}"
            os.mkdir(place)
            turns = line.one_waiter([stores.rows[0], *far.rows], stamp, place,
                                    max(1, amount.handoffs // 10))
            for one in far.rows:
                turn = turns.get(one.name, {})
                result[one.near.name][f"turn_{trip}"] = turn.get("p50_ms", turn.get("failed"))
    for found in result.values():
        near, far = (median(found[f"run_{trip}"]) for trip in (0, ROUND_TRIPS_MS[-1]))
        found["trips"] = (far - near) / ROUND_TRIPS_MS[-1]
    time.sleep(0.5)  # what was cancelled ends
    return result
