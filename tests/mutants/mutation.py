#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutations: old text -> new text, both whole lines. The old text occurs exactly once in all files
below src/ and cmd/, and nothing says in which of them; so code can move, and no mutant changes.

  mutation.py apply FILE       changes the tree in the current directory
  mutation.py fits FILE…       changes nothing; says of each file whether apply would work

In FILE, behind its head, are one or more pairs, applied in this order:
  --- old
  <lines>
  --- new
  <lines, or none: a deletion>
"""
import os
import re
import sys


class Misfit(Exception):
    pass


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def pairs(text):
    """The (old, new) of a mutant's file."""
    parts = re.split(r"(?m)^--- (old|new)\n", text)[1:]
    if not parts or parts[::2] != ["old", "new"] * (len(parts) // 4):
        raise Misfit("not '--- old' and '--- new' in turn")
    return list(zip(parts[1::4], parts[3::4]))


def sources(root):
    """{path: text} of all below src/ and cmd/."""
    found = {}
    for top in ("src", "cmd"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                path = os.path.join(folder, name)
                found[path] = read(path)
    return found


def places(old, tree):
    """(path, offset) of each occurrence that begins at the beginning of a line."""
    found = []
    for path, text in tree.items():
        at = text.find(old)
        while at >= 0:
            if at == 0 or text[at - 1] == "\n":
                found.append((path, at))
            at = text.find(old, at + 1)
    return found


def misfit(number, old, found, tree):
    lines = [f"old text {number} occurs {len(found)} times below src/ and cmd/, not once"]
    lines += [f"in {path}" for path in sorted({path for path, _ in found})]
    if not found:
        lines += [f"nowhere: {line}" for line in old.splitlines()
                  if line.strip() and not places(line + "\n", tree)]
    return Misfit("\n    ".join(lines))


def mutate(tree, mutant):
    """Applies the mutant's text to {path: text}; returns the paths of what it has changed."""
    changed = set()
    for number, (old, new) in enumerate(pairs(mutant), 1):
        found = places(old, tree) if old else []
        if len(found) != 1:
            raise misfit(number, old, found, tree)
        path, at = found[0]
        tree[path] = tree[path][:at] + new + tree[path][at + len(old):]
        changed.add(path)
    return changed


def apply(root, file):
    tree = sources(root)
    for path in mutate(tree, read(file)):
        with open(path, "w", encoding="utf-8", newline="") as out:
            out.write(tree[path])


def fits(files):
    tree, failed = sources("."), 0
    for file in files:
        text = read(file)
        if re.search(r"(?m)^pending: ", text):
            continue
        try:
            mutate(dict(tree), text)
        except Misfit as error:
            failed += 1
            print(f"FAILED {text.splitlines()[0]}: {error}")
    print(f"{len(files) - failed} passed, {failed} failed")
    return 1 if failed or not files else 0


def main(word, *files):
    if word == "fits":
        return fits(files)
    try:
        apply(".", files[0])
    except Misfit as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
