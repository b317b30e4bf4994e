#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""completions.py DLOCK FOLDER: writes the tables of the shell completions in FOLDER by the help of
DLOCK: commands, options, values and descriptions. The rest of each file stays as it is. A new
command or option needs no change here, unless it excludes others or can be repeated."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

SIGNALS = "TERM INT HUP QUIT USR1 USR2 KILL"
CHOICES = {"SIG": SIGNALS, "WHEN": "auto always never"}  # values of which the help gives no list
KINDS = {"FILE": "file", "DIR": "directory", "PID": "process"}
NAMES = {"DUR": "duration", "N": "number", "ID": "owner id"}  # of other values: as in the help
# What zsh should know, and the help does not say.
EXCLUSIVE = [["--nonblock", "--wait"], ["--shared", "--exclusive", "--slots"]]
REPEATABLE = ["--and", "--or", "--verbose"]
ALONE = ["--version", "-h", "--help"]
SHORTER = {"--url": "the store", "--quiet": "log errors only; inspect, doctor: print nothing"}

BEGIN = "# --- written by ./dev completions from the help ---"
END = "# --- end of what ./dev completions writes ---"


class Option(NamedTuple):
    flags: tuple[str, ...]  # -w, --wait, --timeout
    value: str  # "DUR"; empty: it has none
    text: str

    def takes(self) -> str:
        """file, directory, process, a list of words, text; empty: no value."""
        if self.value in CHOICES or "|" in self.value:
            return CHOICES.get(self.value, self.value.replace("|", " "))
        return KINDS.get(self.value, "text") if self.value else ""

    def is_one_of(self, some: list[str]) -> bool:
        return any(flag in some for flag in self.flags)


class Table(NamedTuple):
    commands: dict[str, str]  # what each does
    operands: dict[str, str]  # as the usage has them
    common: list[Option]
    own: dict[str, list[Option]]
    urls: list[str]  # redis://, …

    def options(self) -> list[Option]:
        return list(dict.fromkeys(sum(self.own.values(), self.common)))


# --- the help -------------------------------------------------------------------------------------


def entries(help_text: str, head: str) -> list[tuple[str, str]]:
    """The rows below a head: what stands at the left, and its text."""
    block = help_text.partition(f"\n{head}:\n")[2].partition("\n\n")[0]
    rows: list[tuple[str, str]] = []
    for line in block.splitlines():
        left, text = re.fullmatch(r"(?:  (\S.*?)(?:  +|$)| {30})(.*)", line).groups()
        if left is None:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {text}".strip())
        else:
            rows.append((left, text))
    return rows


def options(help_text: str, head: str) -> list[Option]:
    found = []
    for left, text in entries(help_text, head):
        *flags, last = left.split(", ")
        last, _, value = last.partition(" ")
        option = Option((*flags, last), value, text)
        found.append(option._replace(text=SHORTER.get(last, text)))
    return found


def read_help(dlock: str) -> Table:
    def help_of(*words: str) -> str:
        done = subprocess.run([dlock, "help", *words], check=True, capture_output=True, text=True)
        return done.stdout

    whole = help_of()
    commands, operands, own = {}, {}, {}
    for usage, text in entries(whole, "commands"):
        name, _, rest = usage.partition(" ")
        commands[name] = text
        operands[name] = rest.replace("[OPTION...]", "").strip()
    common = options(whole, "options of every command")
    for name in commands:
        if name not in ("help", "version"):
            # An option of every command may mean something else in one, and is described there then.
            own[name] = [one for one in options(help_of(name), "options")
                         if one.flags not in [other.flags for other in common]]
    url = dict(entries(whole, "options of every command"))["--url URL"]
    urls = list(dict.fromkeys(re.findall(r"[a-z+]+:///?", url)))
    return Table(commands, operands, common, own, urls)


def flags_of(some: list[Option]) -> list[str]:
    return [flag for one in some for flag in one.flags]


def wrapped(text: str, first: str, after: str, end: str = "") -> str:
    return textwrap.fill(text, 98, initial_indent=first, subsequent_indent=after,
                         break_long_words=False, break_on_hyphens=False).replace("\n", f"{end}\n")


# --- bash -----------------------------------------------------------------------------------------


def bash(table: Table) -> str:
    kinds: dict[str, list[str]] = {}
    for one in table.options():
        if one.value:
            kinds.setdefault(one.takes(), []).extend(one.flags)
    lines = ["# Sets `takes`: file, directory, process, words or text; empty: $1 has no value.",
             "_dlock_takes() {", "  case $1 in"]
    for kind, flags in kinds.items():
        lines += [wrapped(" | ".join(dict.fromkeys(flags)) + ")", "    ", "      ", " \\"),
                  f"      takes='{kind}'", "      ;;"]
    lines += ["    *) takes='' ;;", "  esac", "}", "",
              "# Sets `commands`, and `options`: those of the command $1.", "_dlock_words() {",
              f"  commands='{' '.join(table.commands)}'",
              wrapped(" ".join(flags_of(table.common)) + "'", "  options='", "    "),
              "  case $1 in"]
    for name, own in table.own.items():
        if own:
            lines += [f"    {name})",
                      wrapped(" ".join(flags_of(own)) + "'", "      options+=' ", "        "),
                      "      ;;"]
    return "\n".join([*lines, "  esac", "}"])


# --- zsh ------------------------------------------------------------------------------------------


def zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_action(one: Option, table: Table) -> str:
    if not one.value:
        return ""
    name = NAMES.get(one.value, one.value.lower())
    if "--url" in one.flags:
        name = "URL (" + ", ".join(url.replace(":", "\\:") for url in table.urls) + ")"
    takes = one.takes()
    words = {"file": "_files", "directory": "_files -/", "process": "_pids", "text": " "}
    return f":{name}:" + words.get(takes, f"({takes})")


def zsh_spec(one: Option, table: Table) -> str:
    also = [flag for group in EXCLUSIVE if one.is_one_of(group)
            for other in table.options() if other.is_one_of(group) for flag in other.flags]
    out = list(dict.fromkeys(also)) or (list(one.flags) if len(one.flags) > 1 else [])
    before = "*" if one.is_one_of(REPEATABLE) else f"({' '.join(out)})" if out else ""
    if one.is_one_of(ALONE):
        before = "(- *)"
    text = one.text.replace("[", "\\[").replace("]", "\\]")
    flags = "{" + ",".join(one.flags) + "}" if len(one.flags) > 1 else one.flags[0]
    before = zsh_quoted(before) if before else ""
    return before + flags + zsh_quoted(f"[{text}]{zsh_action(one, table)}")


def zsh_operands(usage: str, table: Table) -> list[str]:
    if "CMD" in usage:
        return ["1:lock name: ", "*:::command:_dlock_child"]
    if "COMMAND" in usage:
        return [f"1:command:({' '.join(table.own)})"]
    what = "glob" if "GLOB" in usage else "lock name"
    return [("*" if "..." in usage else "1") + f":{what}: "] if usage else []


def zsh(table: Table) -> str:
    lines = ["# Sets `subcommands` and `common`; and for the command $1 `own` and `operands`.",
             "_dlock_words() {", "  subcommands=("]
    lines += ["    " + zsh_quoted(name + ":" + text.replace(":", "\\:"))
              for name, text in table.commands.items()]
    lines += ["  )", "  common=(", *("    " + zsh_spec(one, table) for one in table.common), "  )",
              "  case $1 in"]
    for name, usage in table.operands.items():
        own = [f"        {zsh_spec(one, table)}" for one in table.own.get(name, [])]
        operands = " ".join(map(zsh_quoted, zsh_operands(usage, table)))
        lines += [f"    {name})", *(["      own=(", *own, "      )"] if own else []),
                  *([f"      operands=({operands})"] if operands else []), "      ;;"]
    return "\n".join([*lines, "  esac", "}"])


# --- fish -----------------------------------------------------------------------------------------


def fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_line(one: Option, condition: str, table: Table) -> str:
    words = ["complete -c dlock -n", condition]
    for flag in one.flags:
        words.append(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}")
    takes = " ".join(table.urls) if "--url" in one.flags else one.takes()
    if takes == "file":
        words.append("-r -F")
    elif takes:
        words.append("-x")
        listed = {"text": "", "directory": "(__fish_complete_directories)",
                  "process": "(__fish_complete_pids)"}.get(takes, takes)
        words += ["-a", fish_quoted(listed)] if listed else []
    return " ".join([*words, "-d", fish_quoted(one.text[0].upper() + one.text[1:])])


def fish(table: Table) -> str:
    valued = flags_of([one for one in table.options() if one.value])
    lines = ["# Prints the options that have a value.", "function __dlock_valued",
             wrapped(" ".join(dict.fromkeys(valued)), "    printf '%s\\n' ", "        ", " \\"),
             "end", ""]
    for name, text in table.commands.items():
        what = fish_quoted(text[0].upper() + text[1:])
        lines.append(f"complete -c dlock -n '__dlock_in none' -a {name} -d {what}")
    lines += [f"complete -c dlock -n '__dlock_in help' -a '{' '.join(table.own)}'", ""]
    lines += [fish_line(one, "__dlock_own_words", table) for one in table.common]
    for one in table.options():
        having = [name for name, own in table.own.items() if one in own]
        if having:
            lines.append(fish_line(one, f"'__dlock_in {' '.join(having)}'", table))
    return "\n".join(lines)


def main() -> None:
    dlock, folder = sys.argv[1:]
    table = read_help(dlock)
    for name, write in {"dlock.bash": bash, "_dlock": zsh, "dlock.fish": fish}.items():
        path = Path(folder, name)
        before, rest = path.read_text().split(BEGIN + "\n")
        after = rest.split(END)[1]
        path.write_text(f"{before}{BEGIN}\n{write(table)}\n{END}{after}")


main()
