#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads dlock's JSON events.

    events.py FILE names            their names in order, in one line
    events.py FILE get EVENT FIELD  that field of the first EVENT; of the last one with EVENT@last

In both cases every line of FILE must be an object with a stamp, a level, a name and a text, the
stamps must not go back, and a line that names a hold must name the lock as well.
"""
import json
import sys

LEVELS = {"error", "warn", "info", "debug"}


def read(path):
    events = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            assert isinstance(event["boot_ns"], int), line
            assert event["level"] in LEVELS, line
            assert isinstance(event["event"], str) and event["event"], line
            assert isinstance(event["text"], str) and "\n" not in event["text"], line
            assert "lock" in event or "hold" not in event, line
            assert not events or events[-1]["boot_ns"] <= event["boot_ns"], line
            events.append(event)
    return events


def main():
    events = read(sys.argv[1])
    if sys.argv[2] == "names":
        print(*(event["event"] for event in events))
        return
    name, _, which = sys.argv[3].partition("@")
    value = [event for event in events if event["event"] == name][-1 if which else 0][sys.argv[4]]
    print(value if isinstance(value, str) else json.dumps(value))


main()
