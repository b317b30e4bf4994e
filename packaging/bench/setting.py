# SPDX-License-Identifier: MIT
"""Where the benchmarks run: private servers, what is compared, and how it is started.

Servers have free ports of the loopback and folders of their own, and are ended by their pid.
"""

import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

# What people write by hand: SET NX PX, run, compare and delete; it polls every 100 ms.
WRAPPER = """#!/bin/bash
key=$1; shift
token=$$-$RANDOM$RANDOM$RANDOM
until [ "$(redis-cli -p {port} SET "$key" "$token" NX PX 30000)" = OK ]; do sleep 0.1; done
"$@"
status=$?
redis-cli -p {port} EVAL "if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1]) else return 0 end" 1 "$key" "$token" >/dev/null
exit $status
"""

# A command that says when it began and ended, a line each: `stamp FILE MICROSECONDS MOST`. Under a
# lock nobody else writes to FILE; who finds 2 x MOST lines stays, so a chain of them comes to rest.
STAMP = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void say(int fd, long time) {
  char line[32];
  const int size = snprintf(line, sizeof line, "%019ld\n", time);
  if (write(fd, line, (size_t)size) != size) _exit(1);
}

int main(int argc, char** argv) {
  const long begin = now();
  struct stat file;
  const int fd = open(argv[1], O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (argc < 4 || fd < 0 || fstat(fd, &file) != 0) return 1;
  if (file.st_size >= 40 * atol(argv[3])) {
    alarm(60);  // in case nothing else ends it
    pause();
  }
  say(fd, begin);
  usleep((useconds_t)atol(argv[2]));
  say(fd, now());
  return 0;
}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(port):
    with socket.socket() as s:
        s.settimeout(0.2)
        return s.connect_ex(("127.0.0.1", port)) == 0


class Servers:
    """redis-server always, etcd where it is installed; both on the loopback."""

    def __init__(self, folder):
        self.started = []
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        most = 65536 if hard == resource.RLIM_INFINITY else min(hard, 65536)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))  # two connections a waiter
        self.redis = free_port()
        while not self.start(self.redis, [
                "redis-server", "--port", str(self.redis), "--bind", "127.0.0.1",
                "--unixsocket", f"{folder}/redis.sock", "--maxclients", "20000",
                "--save", "", "--appendonly", "no", "--dir", folder]):
            self.redis = free_port()  # another process took the port in between
        self.redis_pid = self.started[-1].pid
        self.etcd = None
        if shutil.which("etcd") and shutil.which("etcdctl"):
            self.etcd, peer = free_port(), free_port()
            url, peer_url = (f"http://127.0.0.1:{port}" for port in (self.etcd, peer))
            if not self.start(self.etcd, [
                    "etcd", "--data-dir", f"{folder}/etcd", "--listen-client-urls", url,
                    "--advertise-client-urls", url, "--listen-peer-urls", peer_url,
                    "--initial-advertise-peer-urls", peer_url,
                    "--initial-cluster", f"default={peer_url}"]):
                raise SystemExit("bench: etcd did not start")

    def start(self, port, command):
        """Whether it runs; the third that does not is the last."""
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.started.append(server)
        end = time.monotonic() + 20
        while server.poll() is None and not answers(port):
            if time.monotonic() > end:
                raise SystemExit(f"bench: {command[0]} does not answer")
            time.sleep(0.05)
        time.sleep(0.5)
        if server.poll() is not None and len(self.started) >= 3:
            raise SystemExit(f"bench: {command[0]} did not start")
        return server.poll() is None

    def close(self):
        for server in self.started:
            server.terminate()
            server.wait()

    def info(self, section):
        """INFO of the redis-server, as name -> text."""
        with socket.create_connection(("127.0.0.1", self.redis), 10) as s:
            s.sendall(f"INFO {section}\r\nQUIT\r\n".encode())
            said = b""
            while chunk := s.recv(1 << 16):
                said += chunk
        lines = said.decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line and line[0] != "$")

    def sent(self):
        """How many commands clients have sent so far, and not scripts: what a script calls is in
        INFO commandstats as well, under names that no client sends by itself. QUIT is of info()."""
        ours = ("eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "script", "subscribe",
                "unsubscribe", "psubscribe", "ssubscribe", "client", "hello", "auth", "select",
                "ping", "role", "wait")
        total = 0
        for name, text in self.info("commandstats").items():
            command = name.removeprefix("cmdstat_").split("|")[0]
            if command in ours:
                total += int(text.split("calls=", 1)[1].split(",", 1)[0])
        return total


class Candidate:
    """A way to run a command under a lock. Of dlock: with its program and store."""

    def __init__(self, name, words, environment=None, store=None):
        self.name = name
        self.word = re.sub("[^A-Za-z0-9]+", "-", name)  # for files: scripts take no spaces
        self.words = words
        self.environment = {**os.environ, **(environment or {})}
        self.store = store
        self.program = words("")[0]
        self.pause_us = None  # so long it takes to come to wait, if that is long

    def command(self, lock, *command):
        return self.words(lock) + list(command)


def candidates(folder, servers, dlock):
    wrapper = f"{folder}/wrapper"
    with open(wrapper, "w", encoding="utf-8") as script:
        script.write(WRAPPER.format(port=servers.redis))
    os.chmod(wrapper, 0o755)
    os.mkdir(f"{folder}/locks")

    def run(lock):
        return [dlock, "run", lock, "--"]

    urls = {"unix socket": f"redis+unix://{folder}/redis.sock",
            "tcp": f"redis://127.0.0.1:{servers.redis}", "sqlite": f"sqlite://{folder}/locks.db",
            "local": f"local://{folder}/locks"}
    found = [Candidate("flock", lambda lock: ["flock", f"{folder}/{lock}"])]
    found += [Candidate(f"dlock, {store}", run, {"DLOCK_URL": url}, store)
              for store, url in urls.items()]
    found.append(Candidate("redis-cli wrapper", lambda lock: [wrapper, lock]))
    if servers.etcd:
        found.append(Candidate("etcdctl lock", lambda lock: [
            "etcdctl", "--endpoints", f"127.0.0.1:{servers.etcd}", "lock", lock]))
    return found


def make_stamp(folder):
    """Compiles STAMP, static: how long it takes to start is a part of what it measures."""
    stamp = f"{folder}/stamp"
    subprocess.run(["g++", "-x", "c++", "-O2", "-static", "-o", stamp, "-"], input=STAMP.encode(),
                   check=True)
    return stamp


def end(processes, limit=20):
    """TERM, and KILL to what is still there after the limit."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    until = time.monotonic() + limit
    for process in processes:
        try:
            process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def descendants(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                for child in f.read().split():
                    found += [int(child)] + descendants(int(child))
    except (FileNotFoundError, ProcessLookupError):
        pass  # it has ended
    return found


def tell(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def end_all(processes, limit=20):
    """With what they have started: flock and others leave that running when they are ended."""
    below = [pid for process in processes for pid in descendants(process.pid)]
    end(processes, limit)
    tell(below, signal.SIGTERM)


def quiet(command, environment, **more):
    """Starts it with nothing to read and nowhere to write."""
    files = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
             "stderr": subprocess.DEVNULL, **more}
    return subprocess.Popen(command, env=environment, **files)
