#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./dev record: what a wait looks like on a terminal of 80 columns.

    record-wait.py DLOCK [--columns N] [--seconds N] [--raw FILE] [--svg FILE]

Starts a redis-server of its own, a dlock that holds a lock, a first waiter, and a second waiter on a
pseudo-terminal; keeps every byte of the latter with its time, plays them on a model of a screen, and
prints the row after each write. --raw keeps the bytes. --svg draws the command, the last row of the
wait at each place in the line, and the grant; packaging/waiting.svg is made by
`./dev record --columns 96 --svg packaging/waiting.svg`. Exits with 1 if the wait took more than one
row, if the screen scrolled, or if the row was not rewritten.
"""
import argparse
import fcntl
import html
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

ROWS = 24
PATIENCE = 20.0
COMMAND = "dlock run order-42 -- ./job.sh"
SCRIPTS = {  # of the holder, of the first waiter, and of the recorded one
    "import.sh": "#!/bin/sh\ntouch held\nuntil [ -e go ]; do sleep 0.05; done\n",
    "report.sh": "#!/bin/sh\nsleep 2.5\n",
    "job.sh": "#!/bin/sh\n",
}


class Screen:
    """As much of a terminal as dlock uses: text, CR, LF, erase to the end of the row."""

    def __init__(self, columns):
        self.columns, self.row, self.column, self.scrolled = columns, 0, 0, 0
        self.rows, self.used = [[" "] * columns for _ in range(ROWS)], {0}

    def line_feed(self):
        if self.row == ROWS - 1:
            self.rows = self.rows[1:] + [[" "] * self.columns]
            self.scrolled += 1
        else:
            self.row += 1

    def put(self, char):
        if self.column == self.columns:  # the row was full: text wraps
            self.column = 0
            self.line_feed()
        self.used.add(self.row)
        self.rows[self.row][self.column] = char
        self.column += 1

    def write(self, text):
        for part in re.findall("\x1b\\[[0-9;]*[A-Za-z]|.", text, re.DOTALL):
            if part == "\r":
                self.column = 0
            elif part == "\n":
                self.line_feed()
            elif part == "\x1b[K":
                self.rows[self.row][self.column:] = [" "] * (self.columns - self.column)
            elif not part.startswith("\x1b"):
                self.put(part)

    def text(self, row):
        return "".join(self.rows[row]).rstrip()


def wait_for(there, what):
    end = time.monotonic() + PATIENCE
    while not there():
        if time.monotonic() > end:
            sys.exit(f"record-wait.py: gave up waiting for {what}")
        time.sleep(0.02)


def on_terminal(command, columns, folder, environment):
    """A process on a terminal of its own; its pid and the other end."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(folder)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        os.execve(command[0], command, environment)
    return pid, master


def record(master, seconds, let_go):
    """Every (time, bytes) until the other end is closed; the holder is let go after `seconds`."""
    start, writes, gone = time.monotonic(), [], False
    while True:
        now = time.monotonic() - start
        if now > seconds and not gone:
            gone = True
            let_go()
        if now > seconds + PATIENCE:
            sys.exit("record-wait.py: the waiter does not end")
        if not select.select([master], [], [], 0.05)[0]:
            continue
        try:
            data = os.read(master, 65536)
        except OSError:  # EIO: it has ended
            return writes
        writes.append((time.monotonic() - start, data))


def play(writes, columns):
    """The row after each write, and what was wrong with them."""
    screen, frames, wrong = Screen(columns), [], []
    for when, data in writes:
        screen.write(data.decode())
        shown = [screen.text(row) for row in sorted(screen.used) if screen.text(row)]
        frames.append((when, shown))
        waiting = [row for row in shown if row.startswith("dlock: waiting")]
        if waiting and (len(shown) != 1 or screen.row != 0):
            wrong.append(f"the wait took {len(shown)} rows after {when:.1f} s")
    if screen.scrolled:
        wrong.append(f"the screen scrolled {screen.scrolled} rows")
    waits = {shown[0] for _, shown in frames if shown and shown[0].startswith("dlock: waiting")}
    if len(waits) < 3:
        wrong.append(f"only {len(waits)} different waits were shown")
    if not frames or not any(row.startswith("dlock: acquired") for row in frames[-1][1]):
        wrong.append("the grant was not told")
    return frames, wrong


def picture(frames, columns):
    waits = {}  # the last row of each place in the line
    for _, shown in frames:
        place = shown and re.search(r"\d+(st|nd|rd|th) of \d+", shown[0])
        if place:
            waits[place.group()] = shown[0]
    rows = ["$ " + COMMAND, *waits.values(), *frames[-1][1]]
    width, height = columns * 8.4 + 24, len(rows) * 20 + 24
    text = "".join(f'<text x="12" y="{28 + 20 * i}" xml:space="preserve">{html.escape(row)}</text>\n'
                   for i, row in enumerate(rows))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
            'font-family="monospace" font-size="14">\n'
            '<rect width="100%" height="100%" rx="6" fill="#1e1e1e"/>\n'
            f'<g fill="#d4d4d4">\n{text}</g>\n</svg>\n')


def clean_environment(folder):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("DLOCK_", "REDIS", "CI_", "GITHUB_", "BUILD"))}
    return kept | {"DLOCK_URL": f"redis+unix://{folder}/redis.sock", "HOME": folder, "TERM": "xterm",
                   "XDG_CONFIG_HOME": folder, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}


def run(options, folder, started):
    environment = clean_environment(folder)
    started.append(subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", f"{folder}/redis.sock", "--save", "",
         "--dir", folder], stdout=subprocess.DEVNULL))
    wait_for(lambda: os.path.exists(f"{folder}/redis.sock"), "redis-server")
    for name, text in SCRIPTS.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(f"{folder}/{name}", 0o755)

    def start(*words):
        started.append(subprocess.Popen([options.dlock, *words], cwd=folder, env=environment,
                                        stderr=subprocess.DEVNULL))

    def waiting():
        told = subprocess.run([options.dlock, "inspect", "order-42"], env=environment, check=True,
                              capture_output=True, text=True)
        return "1 waiting" in told.stdout

    start("run", "--reason", "nightly import", "order-42", "./import.sh")
    wait_for(lambda: os.path.exists(f"{folder}/held"), "the holder")
    start("run", "order-42", "./report.sh")
    wait_for(waiting, "the first waiter")
    words = COMMAND.split()
    pid, master = on_terminal([options.dlock, *words[1:]], options.columns, folder, environment)
    writes = record(master, options.seconds, lambda: open(f"{folder}/go", "w").close())
    os.waitpid(pid, 0)
    for process in started[1:]:
        process.wait(PATIENCE)
    return writes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dlock", type=os.path.realpath)
    parser.add_argument("--columns", type=int, default=80)
    parser.add_argument("--seconds", type=float, default=4.5)
    parser.add_argument("--raw")
    parser.add_argument("--svg")
    options = parser.parse_args()
    started = []
    with tempfile.TemporaryDirectory(prefix="dlock-record.") as folder:
        try:
            writes = run(options, folder, started)
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()
    frames, wrong = play(writes, options.columns)
    for when, shown in frames:
        print(f"{when:5.1f} s | " + "\n        | ".join(shown))
    if options.raw:
        with open(options.raw, "wb") as file:
            file.writelines(data for _, data in writes)
    if options.svg and not wrong:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(picture(frames, options.columns))
    for one in wrong:
        print(f"record-wait.py: {one}", file=sys.stderr)
    print(f"a terminal of {options.columns} columns: " + ("wrong" if wrong else "one row, rewritten in place"))
    sys.exit(1 if wrong else 0)


main()
