#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./dev peers: what becomes of a command and its lock when something breaks, beside flock, etcdctl
lock and what people write around redis-cli.

For each fault a holder runs a command that writes down when it runs, for four leases, and after the
fault a rival wants the same lock. Two at once means that both commands ran at the same time. Servers and
files are private; everything is ended by its pid.
"""

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench"))
from setting import WRAPPER, Servers

LEASE = 3  # seconds
FAULT_AT = 1.0  # after the start of the command


class Path(threading.Thread):
    """A way to a server that can be cut: then nothing moves any more, in either direction."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.target, self.cut, self.other = port, False, {}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while not self.cut:
            for ready in select.select([self.listener, *self.other], [], [], 0.02)[0]:
                if self.cut:
                    return
                if ready is self.listener:
                    near = self.listener.accept()[0]
                    far = socket.create_connection(("127.0.0.1", self.target))
                    self.other.update({near: far, far: near})
                else:
                    self.move(ready)

    def move(self, ready):
        if ready not in self.other:
            return
        try:
            data = ready.recv(65536)
            if data:
                return self.other[ready].sendall(data)
        except OSError:
            pass
        for end in (self.other.pop(ready), ready):
            self.other.pop(end, None)
            end.close()


class Tool:
    """How one of them is told to run a command under a lock."""

    def __init__(self, name, words, port=None, remove=None):
        self.name, self.words, self.port, self.remove = name, words, port, remove

    def command(self, lock, port=None):
        return self.words(lock, port or self.port)


def tools(folder, servers, dlock):
    def wrapper(lock, port):
        path = f"{folder}/wrapper-{port}"
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as script:
                script.write(WRAPPER.format(port=port).replace("PX 30000", f"PX {LEASE * 1000}"))
            os.chmod(path, 0o755)
        return [path, lock]

    def redis_delete(prefix):
        return lambda lock: subprocess.run(
            ["redis-cli", "-p", str(servers.redis), "DEL", prefix + lock], check=True,
            stdout=subprocess.DEVNULL)

    found = [
        Tool("dlock", lambda lock, port: [dlock, "-q", "--url", f"redis://127.0.0.1:{port}", "run",
                                          "--ttl", f"{LEASE}s", lock, "--"],
             servers.redis, redis_delete("dlock:")),
        Tool("flock", lambda lock, port: ["flock", f"{folder}/{lock}.flock"],
             remove=lambda lock: os.unlink(f"{folder}/{lock}.flock")),
    ]
    if servers.etcd:
        def etcd(port):
            return ["etcdctl", "--endpoints", f"127.0.0.1:{port}"]

        found.append(Tool(
            "etcdctl lock",
            lambda lock, port: [*etcd(port), "lock", "--ttl", str(LEASE), "--", lock],
            servers.etcd,
            # The oldest key below the name is the holder's.
            lambda lock: subprocess.run(
                ["sh", "-c", '"$@" del "$("$@" get --prefix --keys-only --sort-by=CREATE --limit=1 '
                 f'{lock}/ | head -1)"', "sh", *etcd(servers.etcd)], check=True,
                stdout=subprocess.DEVNULL)))
    found.append(Tool("redis-cli wrapper", wrapper, servers.redis, redis_delete("")))
    return found


def ticks(path):
    """When the command of a file ran: (first, last) in seconds, or None if it never did."""
    try:
        with open(path, encoding="ascii") as file:
            stamps = [int(line.split()[0]) / 1e9 for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return None
    return (stamps[0], max(stamps)) if stamps else None


def boot():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def wait_for(test, seconds):
    end = time.monotonic() + seconds
    while not test() and time.monotonic() < end:
        time.sleep(0.02)
    return test()


def end_tickers(path):
    with open(path, encoding="ascii") as file:
        for pid in {int(line.split()[1]) for line in file if line.endswith("\n")}:
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii") as name:
                    if name.read().strip() == "ticker":
                        os.kill(pid, signal.SIGKILL)
            except OSError:
                pass


class Trial:
    """One fault, one tool."""

    def __init__(self, tool, folder, fault):
        self.tool, self.fault, self.said = tool, fault, "?"
        self.lock = f"{fault.__name__}-{tool.name.split()[0]}".replace("_", "-")
        self.first, self.second = (f"{folder}/{self.lock}.{n}" for n in (1, 2))
        self.ticker, self.way = f"{folder}/ticker", None

    def start(self, port, path, seconds):
        # A command with a process in the background, which it waits for.
        both = f'"$0" "$1" for {seconds * 1000:.0f} & "$0" "$1" for {seconds * 1000:.0f}; wait'
        return subprocess.Popen([*self.tool.command(self.lock, port), "sh", "-c", both, self.ticker,
                                 path],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)

    def run(self):
        if self.tool.port and self.fault is cut_off:
            self.way = Path(self.tool.port)
        holder = self.start(self.way and self.way.port, self.first, LEASE * 4)
        if not wait_for(lambda: ticks(self.first), 20):
            self.said = "never got the lock"
            return
        time.sleep(FAULT_AT)
        at = boot()
        self.fault(self, holder)
        rival = self.start(None, self.second, 0.3)
        wait_for(lambda: ticks(self.second) and rival.poll() is not None, LEASE * 5)
        wait_for(lambda: boot() - ticks(self.first)[1] > 1, LEASE * 5)
        wait_for(lambda: holder.poll() is not None, 3)
        self.said = self.verdict(at, holder.poll())
        for process in (holder, rival):
            process.kill()
            process.wait()
        end_tickers(self.first)

    def verdict(self, at, status):
        ours, theirs = ticks(self.first), ticks(self.second)
        ran_out = ours[1] - ours[0] > LEASE * 4 - 0.5
        words = ["ran on" if ran_out else f"stopped after {max(ours[1] - at, 0):.1f} s"]
        both = theirs and min(ours[1], theirs[1]) - max(ours[0], theirs[0])
        if theirs is None:
            words.append("rival never ran")
        elif both > 0:
            words.append("TWO AT ONCE")
        else:
            words.append("one at a time")
        if status is not None and status >= 0:
            words.append(f"exit {status}")
        return ", ".join(words)


def nothing(_trial, _holder):
    """nothing: the command is longer than the lease"""


def killed(_trial, holder):
    """P01 the tool is killed (SIGKILL)"""
    holder.kill()


def stopped(_trial, holder):
    """P04 the tool is stopped (SIGSTOP), and later continued"""
    holder.send_signal(signal.SIGSTOP)
    threading.Timer(LEASE * 2, holder.send_signal, [signal.SIGCONT]).start()


def cut_off(trial, _holder):
    """N02 only the holder is cut off from the server"""
    if trial.way:
        trial.way.cut = True


def removed(trial, _holder):
    """R10 the lock is removed by hand"""
    trial.tool.remove(trial.lock)


def count(tool, folder):
    """K01 a hundred increments of a file"""
    path = f"{folder}/count-{tool.name.split()[0]}"
    with open(path, "w", encoding="ascii") as file:
        file.write("0\n")
    step = ["sh", "-c", 'read n <"$0"; echo $((n + 1)) >"$0"', path]

    def work():
        for _ in range(25):
            subprocess.run([*tool.command("count"), *step], check=True, stdout=subprocess.DEVNULL)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with open(path, encoding="ascii") as file:
        return f"{file.read().strip()} of 100"


def statuses(tool):
    """P13 P35 exit 7, killed by TERM, not found"""
    commands = (["sh", "-c", "exit 7"], ["sh", "-c", "kill -TERM $$"], ["/nonexistent"])
    ends = [subprocess.run([*tool.command("status"), *command], check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL).returncode for command in commands]
    return ", ".join(f"signal {-end}" if end < 0 else str(end) for end in ends)


def in_parallel(work, items):
    threads = [threading.Thread(target=work, args=[item]) for item in items]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def show(title, said):
    print(title)
    for name, text in said:
        print(f"    {name:20}{text}", flush=True)


def main():
    dlock = os.path.abspath(sys.argv[1])
    folder = tempfile.mkdtemp(prefix="dlock-peers-")
    helpers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/support/programs")
    subprocess.run(["c++", "-O1", "-o", f"{folder}/ticker", f"{helpers}/ticker.cpp"], check=True)
    servers = Servers(folder)
    try:
        found = tools(folder, servers, dlock)
        if not servers.etcd:
            print("etcdctl is left out: no etcd-server and etcd-client here")
        print(f"Leases of {LEASE} s, the fault {FAULT_AT:.0f} s into a command of {LEASE * 4} s.\n")
        for fault in (nothing, killed, stopped, cut_off, removed):
            trials = [Trial(tool, folder, fault) for tool in found]
            if fault is cut_off:
                trials = [trial for trial in trials if trial.tool.port]
            in_parallel(Trial.run, trials)
            show(fault.__doc__, [(trial.tool.name, trial.said) for trial in trials])
        show(count.__doc__, [(tool.name, count(tool, folder)) for tool in found])
        show(statuses.__doc__, [(tool.name, statuses(tool)) for tool in found])
    finally:
        servers.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
