#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what dlock has written against a schema of packaging/schemas.

    schema.py NAME [FILE…]    each FILE, or standard input, is such an object; with the name log, each
                              line of it is one. Prints the events of a log, in order
    schema.py fits FILE…      each FILE is such an object, NAME being the end of its name, as in 3.inspect.
                              Prints what could be missing, or of another type, without being noticed: a
                              member as locks[].token
    schema.py schemas         each schema is one

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


def read(name):
    with open(os.path.join(FOLDER, f"{name}.schema.json"), encoding="utf-8") as file:
        return json.load(file)


def closed(name):
    schema = read(name)
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
                yield f"{names} {how}"
            holder.clear()
            holder.update(kept)


def fits(paths):
    validators = {name: closed(name) for name in {path.rsplit(".", 1)[1] for path in paths}}
    for path in paths:
        validator = validators[path.rsplit(".", 1)[1]]
        with open(path, encoding="utf-8") as file:
            value = check(validator, file.read())
        for change in loose(validator, value):
            print(change)


def main():
    name, *paths = sys.argv[1:]
    if name == "schemas":
        for file in os.listdir(FOLDER):
            jsonschema.Draft202012Validator.check_schema(read(file.split(".")[0]))
        return
    if name == "fits":
        fits(paths)
        return
    validator = closed(name)
    for path in paths or ["/dev/stdin"]:
        with open(path, encoding="utf-8") as file:
            if name != "log":
                check(validator, file.read())
                continue
            print(*[check(validator, line)["event"] for line in file])


main()
