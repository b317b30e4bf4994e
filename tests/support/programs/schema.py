#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what dlock has written against a schema of packaging/schemas.

    schema.py NAME [FILE…]    each FILE, or standard input, is such an object; with the name log, each
                              line of it is one. Prints the events of a log, in order
    schema.py loose NAME [FILE…]   prints what could be missing, or of another type, without being
                              noticed: a member as locks[].token, with its event in a log

Here the schemas are closed: a member that a schema does not name is wrong, although a reader of dlock's
JSON has to ignore it. So a new member must come into the schema.
"""
import json
import os
import sys

try:
    import jsonschema
except ImportError:  # that of Debian may have it, where this one is of a version manager
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

FOLDER = os.path.join(os.path.dirname(__file__), "../../../packaging/schemas")


def close(schema):
    """Forbids what is not named, in each object that the schema describes."""
    for part in [*schema.get("$defs", {}).values(), *schema.get("properties", {}).values()]:
        close(part)
    if "items" in schema:
        close(schema["items"])
    if "properties" in schema:
        schema["unevaluatedProperties"] = False


def closed(name):
    with open(os.path.join(FOLDER, f"{name}.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    close(schema)
    return jsonschema.Draft202012Validator(schema)


def check(validator, text):
    value = json.loads(text)
    for error in validator.iter_errors(value):
        where = "".join(f"[{step!r}]" for step in error.absolute_path)
        sys.exit(f"{where or 'it'}: {error.message}\n{text}")
    return value


def members(value, names=""):
    """Yields each object below the value with each of its members, and the names on the way."""
    if isinstance(value, dict):
        for key in list(value):
            here = f"{names}.{key}" if names else key
            yield value, key, here
            yield from members(value[key], here)
    elif isinstance(value, list):
        for one in value:
            yield from members(one, names + "[]")


def loose(validator, value):
    """Yields the members that the schema does not hold fast, one change at a time."""
    event = value.get("event", "")
    for holder, key, names in list(members(value)):
        kept = dict(holder)
        changes = ((("less", {k: v for k, v in kept.items() if k != key}),
                    ("else", {**kept, key: [{}]}), ("null", {**kept, key: None})))
        for how, changed in changes:
            if changed == kept:
                continue
            holder.clear()
            holder.update(changed)
            if validator.is_valid(value):
                yield f"{event} {names} {how}".strip()
            holder.clear()
            holder.update(kept)


def main():
    words = sys.argv[1:]
    only_loose = words[0] == "loose"
    name, *paths = words[only_loose:]
    paths = paths or ["/dev/stdin"]
    validator = closed(name)
    if only_loose:
        for path in paths:
            with open(path, encoding="utf-8") as file:
                texts = file.readlines() if name == "log" else [file.read()]
            for text in texts:
                print(*loose(validator, json.loads(text)), sep="\n")
        return
    for path in paths:
        with open(path, encoding="utf-8") as file:
            if name != "log":
                check(validator, file.read())
                continue
            print(*[check(validator, line)["event"] for line in file])


main()
