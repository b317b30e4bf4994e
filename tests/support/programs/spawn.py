#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command as a user's shell would: own process group, every signal at its default.

    spawn.py [--pid FILE] [--report FILE] [--ignore SIG,...] [--block SIG,...] [--setsid]
             [--same-group] [--no-stdin] -- COMMAND...

A command that a script starts with `&` inherits ignored INT and QUIT, and whatever else the test
runner ignores; this puts it right. Without --report it execs, so that its pid is the command's.
With --report it stays as the parent and writes `exit N` or `signal N` when the command has ended,
which a shell's `$?` cannot tell apart. The command's pid goes to the file of --pid first.
"""
import argparse
import os
import signal
import sys


def numbers(text):
    return {getattr(signal, "SIG" + name) for name in text.split(",") if name}


def write(path, text):
    if path:
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(text + "\n")
        os.rename(path + ".new", path)


def become(options):
    if options.setsid:
        os.setsid()
    elif not options.same_group:
        os.setpgid(0, 0)
    if options.no_stdin:
        os.close(0)
    write(options.pid, str(os.getpid()))
    ignored = numbers(options.ignore)
    for number in signal.valid_signals():
        try:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
        except OSError:
            pass  # KILL, STOP
    signal.pthread_sigmask(signal.SIG_SETMASK, numbers(options.block))
    try:
        os.execvp(options.command[0], options.command)
    except OSError as error:
        sys.exit(f"spawn.py: cannot execute {options.command[0]}: {error}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--pid", "--report"):
        parser.add_argument(name)
    for name in ("--ignore", "--block"):
        parser.add_argument(name, default="")
    for name in ("--setsid", "--same-group", "--no-stdin"):
        parser.add_argument(name, action="store_true")
    at = sys.argv.index("--")
    options = parser.parse_args(sys.argv[1:at])
    options.command = sys.argv[at + 1:]
    if not options.report:
        become(options)
    child = os.fork()
    if child == 0:
        become(options)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        core = " core" if os.WCOREDUMP(status) else ""
        write(options.report, f"signal {os.WTERMSIG(status)}{core}")
    else:
        write(options.report, f"exit {os.WEXITSTATUS(status)}")


main()
