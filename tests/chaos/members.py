# SPDX-License-Identifier: MIT
"""The servers of a store that is not Redis: one, or several members that keep it together. Each has
a folder and a port, and runs under the account of its package if we are root. They are killed,
frozen and started again by their pids, with the processes that they have started."""
import os
import pwd
import random
import signal
import subprocess
import time

from servers import free_port
from way import Way, children, command_of, tell, until


class Members(Way):
    """A store says how a member is made, what its command is, and whether it answers."""

    count, account, options_of_dlock = 1, None, ()

    def __init__(self, folder):
        self.folder, self.change = folder, []
        # In the order in which dlock sorts the servers of a quorum.
        self.ports = sorted(free_port() for _ in range(self.count))
        self.port, self.processes = self.ports[0], [None] * self.count
        self.random = random.Random(self.port)
        os.chmod(folder, 0o755)
        if self.account and os.getuid() == 0:
            user = pwd.getpwnam(self.account)
            self.change = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}",
                           "--clear-groups"]
        for number in self.all():
            os.makedirs(self.place(number))
            if self.change:
                os.chown(self.place(number), user.pw_uid, user.pw_gid)
            self.make(number)
        try:
            self.start(self.all())
        except RuntimeError:
            self.stop()
            raise

    def all(self):
        return range(self.count)

    def place(self, number):
        return os.path.join(self.folder, f"server{number}")

    def make(self, number):
        pass

    def call(self, number, *words):
        subprocess.run([*self.change, *words], check=True, cwd=self.place(number),
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def start(self, numbers):
        for number in numbers:
            with open(os.path.join(self.folder, "log"), "ab") as log:
                self.processes[number] = subprocess.Popen(
                    [*self.change, *self.words(number)], cwd=self.place(number),
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until(lambda: all(self.answers(number) for number in self.all()), 30, "no answer")

    def pids(self, numbers):
        found = [self.processes[number].pid for number in numbers if self.processes[number]]
        return found + [child for pid in found for child in children(pid)]

    def signal(self, number, members):
        for pid in self.pids(members):
            tell(pid, number)

    def kill(self, members):
        pids = self.pids(members)
        self.signal(signal.SIGKILL, members)
        for number in members:
            self.processes[number].wait()
        until(lambda: not any(command_of(pid) for pid in pids), 20, "it does not end")

    def freeze(self, members, seconds):
        self.signal(signal.SIGSTOP, members)
        time.sleep(seconds)
        self.signal(signal.SIGCONT, members)

    def restart(self, members, seconds):
        self.kill(members)
        time.sleep(seconds)
        self.start(members)

    def stop(self):
        self.signal(signal.SIGCONT, self.all())
        self.kill([number for number in self.all() if self.processes[number]])
        self.close_way()

    def leader(self):
        return next((number for number in self.all() if self.leads(number)), 0)

    def followers(self):
        leader = self.leader()
        return [number for number in self.all() if number != leader]


class Alone(Members):
    faults = ("freeze_server", "kill_server", "blackhole", "drop", "hold", "reset", "cut")

    def freeze_server(self, seconds, _):
        self.freeze(self.all(), seconds)

    def kill_server(self, seconds, _):
        self.restart(self.all(), seconds / 3)


class Ensemble(Members):
    """Three members; the first is reached through the proxy, the others without it."""

    count = 3
    faults = ("freeze_member", "freeze_leader", "freeze_followers", "kill_member", "kill_leader",
              "blackhole", "drop", "hold", "reset", "cut")

    def hosts(self, client):
        """Where all of them are."""
        ports = [self.port_of(client), *self.ports[1:]]
        return ",".join(f"127.0.0.1:{port}" for port in ports)

    def freeze_member(self, seconds, _):
        self.freeze([self.random.randrange(self.count)], seconds)

    def freeze_leader(self, seconds, _):
        self.freeze([self.leader()], seconds)

    def freeze_followers(self, seconds, _):
        self.freeze(self.followers(), seconds)

    def kill_member(self, seconds, _):
        self.restart([self.random.randrange(self.count)], seconds / 3)

    def kill_leader(self, seconds, _):
        self.restart([self.leader()], seconds / 3)
