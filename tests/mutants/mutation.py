#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The reader of mutants: deliberate mistakes in the code, each of which some test has to catch.

  mutation.py list FOLDER [PATTERN…]  the mutants of these ids: lines "ID KEY VALUE", title first.
                                      M03 also stands for M03a and M03b
  mutation.py apply FOLDER ID…        changes the tree in the current directory
  mutation.py fits FOLDER…            changes nothing; says of each mutant whether apply would work,
                                      and whether each oracle names a test

FOLDER/*.mutants has one file for each area, with its mutants in the order of their ids:

  # R* S*: what the area is                the ids that belong here, as patterns
  # Other lines that begin with # are remarks.

  R01 release without owner check          the id and what the mutant breaks
  oracle: lua/scripts release 'not_        one of the keys below; tests/mutants/run.bash says more
   local owner = owner_of(key)
  -if owner ~= me then return {'not_held'} end
  +if false then return {'not_held'} end

Below its keys a mutant has the change as git diff prints it: ' ' a line that stays, '-' one that
goes, '+' one that comes. The lines with ' ' and '-' are the old text. It occurs exactly once in all
files below src/ and cmd/, and nothing says in which of them; so code can move, and no mutant
changes. A line that begins with @@ begins another change of the same mutant, applied after the
first. An empty line ends a mutant; an empty line of a text is '-' or '+' alone.
"""
import fnmatch
import functools
import glob
import os
import re
import sys

KEYS = ("oracle", "nightly", "limit", "pending")
ID = r"[A-Z]\d\d[a-z]?|[a-z]+(?:-[a-z]+)+"


class Misfit(Exception):
    """The old text of a mutant is not there, or not only once; or an oracle names no test."""


class Refused(Exception):
    """A line of a file of mutants cannot be right, or no mutant has the id that was asked for."""


class Mutant:
    def __init__(self, name, title):
        self.name = name
        self.title = title  # begins with the name
        self.keys = []      # (key, value)
        self.changes = []   # [old lines, new lines]

    def values(self, key):
        return [value for this, value in self.keys if this == key]

    def pairs(self):
        return [("".join(old), "".join(new)) for old, new in self.changes]

    def add_text(self, line):
        if not self.changes:
            self.changes.append(([], []))
        old, new = self.changes[-1]
        if line[0] != "+":
            old.append(line[1:])
        if line[0] != "-":
            new.append(line[1:])


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def parse(text):
    """The mutants in the text of a file, in its order."""
    lines = [line + "\n" for line in text.removesuffix("\n").split("\n")]
    header = re.match(r"# ([^:]+): \S", lines[0])
    if not header:
        raise Refused("1: is not '# PATTERN…: what the area is'")
    patterns, found, now = header[1].split(), [], None
    for number, line in enumerate(lines, 1):
        title = re.match(rf"({ID}) \S", line)
        key = re.match(r"([a-z]+): *(.*\S)", line)
        if line == "\n":
            now = None
        elif title and not now:
            now = Mutant(title[1], line.rstrip("\n"))
            if not any(fnmatch.fnmatchcase(now.name, pattern) for pattern in patterns):
                raise Refused(f"{number}: {now.name} belongs in another file")
            if found and found[-1].name >= now.name:
                raise Refused(f"{number}: {now.name} does not belong after {found[-1].name}")
            found.append(now)
        elif now and key and key[1] in KEYS and not now.changes:
            now.keys.append((key[1], key[2]))
        elif now and line.startswith("@@"):
            now.changes.append(([], []))
        elif now and line[0] in " -+" and line.strip(" ") != "\n":
            now.add_text(line)
        elif line[0] != "#":
            raise Refused(f"{number}: is out of place: {line.rstrip()}")
    return found


def load(folder):
    """{id: mutant} of a folder, in the order of the ids."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.mutant*"))):
        if not path.endswith(".mutants"):
            raise Refused(f"{path}: a mutant belongs in the file of its area, AREA.mutants")
        try:
            mutants = parse(read(path))
        except Refused as error:
            raise Refused(f"{path}:{error}") from None
        for mutant in mutants:
            if mutant.name in found:
                raise Refused(f"{path}: {mutant.name} stands in another file as well")
            found[mutant.name] = mutant
    return dict(sorted(found.items()))


def select(mutants, patterns):
    """The mutants whose id fits one of the patterns, all if there is none."""
    chosen = set() if patterns else set(mutants)
    for pattern in patterns:
        fit = {name for name in mutants if fnmatch.fnmatchcase(name, pattern)
               or fnmatch.fnmatchcase(name, pattern + "[a-z]")}
        if not fit:
            raise Refused(f"no mutant is called {pattern}")
        chosen |= fit
    return [mutant for name, mutant in mutants.items() if name in chosen]


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
    """Applies the mutant to {path: text}; returns the paths of what it has changed."""
    changed = set()
    pairs = mutant.pairs()
    if not pairs or any(old == new for old, new in pairs):
        raise Misfit("changes nothing")
    for number, (old, new) in enumerate(pairs, 1):
        found = places(old, tree) if old else []
        if len(found) != 1:
            raise misfit(number, old, found, tree)
        path, at = found[0]
        tree[path] = tree[path][:at] + new + tree[path][at + len(old):]
        changed.add(path)
    return changed


def apply(root, mutant):
    tree = sources(root)
    for path in mutate(tree, mutant):
        with open(path, "w", encoding="utf-8", newline="") as out:
            out.write(tree[path])


@functools.cache
def tests_of(suite):
    """The names of a suite's tests; None: its tests have no names in a file."""
    if suite.split("/")[0] in ("chaos", "sim"):
        return None
    if suite not in ("unit", "sys", "contract"):
        path = os.path.join("tests", suite + ".bats")
        return re.findall(r'^@test "(.*)" \{', read(path), re.M) if os.path.exists(path) else []
    cases = r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)'
    return ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literal))
            for path in glob.glob(os.path.join("tests", suite, "*.cpp"))
            for literal in re.findall(cases, read(path))]


def find_oracles(mutant):
    """Raises Misfit if an oracle names no test: by a doctest pattern, or a regular expression."""
    for value in mutant.values("oracle") + mutant.values("nightly"):
        suite, pattern = value.split(" ", 1)
        is_doctest = suite in ("unit", "sys", "contract")
        wanted = re.compile(fnmatch.translate(f"*{pattern}*".replace("[", "[[]")) if is_doctest
                            else pattern, re.I if is_doctest else 0)
        names = tests_of(suite)
        if names is not None and not any(wanted.search(name) for name in names):
            raise Misfit(f"no test of {suite} has the name '{pattern}'")


def fits(folders):
    tree, count, failed = sources("."), 0, 0
    for folder in folders:
        for mutant in load(folder).values():
            count += 1
            try:
                if not mutant.values("pending"):
                    mutate(dict(tree), mutant)
                    find_oracles(mutant)
            except Misfit as error:
                failed += 1
                print(f"FAILED {mutant.title}: {error}")
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed or not count else 0


def main(word, *words):
    try:
        if word == "fits":
            return fits(words)
        for mutant in select(load(words[0]), words[1:]):
            if word == "apply":
                apply(".", mutant)
            else:
                for key, value in [("title", mutant.title), *mutant.keys]:
                    print(mutant.name, key, value)
    except Misfit as error:
        print(error)
        return 1
    except Refused as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
