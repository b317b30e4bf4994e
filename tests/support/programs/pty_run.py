#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command on a terminal of its own and plays the user.

    pty_run.py [--columns N] STEP... -- COMMAND...

The terminal has 24 rows of N (100) columns. The command is the leader of a new session whose controlling terminal is the pty. Steps, in order:

    expect:TEXT       wait until TEXT has come out after what was expected last
    send:TEXT         type it; \\r, \\n, \\xHH and \\\\ are understood (\\x03 is Ctrl-C)
    press:TEXT=SEEN   type TEXT again and again until SEEN has come out
    file:PATH[=TEXT]  wait until the file is there, is not empty, and contains TEXT
    gone:PATH         wait until the process whose pid is in that file is no more
    pause:SECONDS     let time pass (for leases to run out, never to wait for an event)
    run:SHELL         run a command line outside of the terminal; it must succeed
    hangup            close the terminal, as a lost ssh connection does
    end               wait until the command has ended

After the last step the command is waited for. All output goes to stdout. Exits with the command's
code, 128+n if a signal ended it, 99 with a line on stderr when a step was not met within 12 s.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 12.0


def unescape(text):
    return text.encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1")


def is_gone(path):
    try:
        with open(path, encoding="ascii") as file:
            pid = int(file.read().split()[0])
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Play:
    def __init__(self, command, columns):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            for number in signal.valid_signals():
                try:
                    signal.signal(number, signal.SIG_DFL)
                except OSError:
                    pass
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            os.execvp(command[0], command)
        self.output, self.mark, self.status = b"", 0, None

    def read(self, seconds):
        if self.master is None:
            time.sleep(seconds)
            return
        if not select.select([self.master], [], [], seconds)[0]:
            return
        try:
            data = os.read(self.master, 65536)
        except OSError:  # EIO: nobody has the other end open
            time.sleep(seconds)
            return
        self.output += data
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                sys.stderr.write(f"pty_run.py: gave up at: {what}\n")
                self.stop()
                sys.exit(99)
            self.read(0.02)

    def stop(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if self.master is not None:
            os.close(self.master)

    def found(self, text):
        at = self.output.find(text, self.mark)
        if at >= 0:
            self.mark = at + len(text)
        return at >= 0

    def press(self, keys, seen, what):
        pressed = [0.0]

        def there():
            if time.monotonic() - pressed[0] > 0.3:
                os.write(self.master, keys)
                pressed[0] = time.monotonic()
            return self.found(seen)

        self.until(there, what)

    @staticmethod
    def file_has(spec):
        path, _, text = spec.partition("=")
        try:
            with open(path, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return False
        return content != b"" and text.encode() in content

    def step(self, step):
        kind, _, text = step.partition(":")
        if kind == "expect":
            self.until(lambda: self.found(unescape(text)), step)
        elif kind == "send":
            os.write(self.master, unescape(text))
        elif kind == "press":
            keys, _, seen = text.partition("=")
            self.press(unescape(keys), unescape(seen), step)
        elif kind == "file":
            self.until(lambda: self.file_has(text), step)
        elif kind == "gone":
            self.until(lambda: is_gone(text), step)
        elif kind == "pause":
            end = time.monotonic() + float(text)
            while time.monotonic() < end:
                self.read(0.02)
        elif kind == "run":
            if subprocess.run(["bash", "-c", text], stdout=sys.stderr, check=False).returncode:
                sys.stderr.write(f"pty_run.py: failed: {text}\n")
                self.stop()
                sys.exit(99)
        elif kind == "hangup":
            os.close(self.master)
            self.master = None
        elif kind == "end":
            self.until(self.ended, step)
        else:
            sys.exit(f"pty_run.py: no such step: {step}")


def main():
    at = sys.argv.index("--")
    steps, columns = sys.argv[1:at], 100
    if steps[:1] == ["--columns"]:
        columns, steps = int(steps[1]), steps[2:]
    play = Play(sys.argv[at + 1:], columns)
    for step in steps:
        play.step(step)
    play.until(play.ended, "the end of the command")
    while play.master is not None and select.select([play.master], [], [], 0)[0]:
        size = len(play.output)
        play.read(0)
        if len(play.output) == size:
            break
    status = play.status
    sys.exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))


main()
