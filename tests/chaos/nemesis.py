# SPDX-License-Identifier: MIT
"""The nemesis: a schedule of faults, drawn from the seed before the run, and what each of them
does. Whom a fault hits is decided when it begins: mostly the client that holds a lock then."""
import heapq
import os
import random
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

from history import Fault
from line import id_of
from monitor import boot_ns
from servers import RedisError
from workers import guard_of

# kind: how often it is drawn, among those of its class.
GUARANTEED = {
    "dlock-stop": 6, "dlock-kill": 4, "dlock-term": 2, "dlock-starve": 2, "guard-stop": 3,
    "guard-kill": 4, "blackhole": 6, "drop": 4, "hold": 4, "late": 3, "reset": 4, "duplicate": 6,
    "drip": 2, "late-then-cut": 3, "replay-then-cut": 3, "redis-stop": 3, "redis-restart": 2,
    "pause": 2, "refuse": 2, "oom": 2, "client-kill": 3, "pubsub-kill": 3, "script-flush": 2,
    "revoke": 3, "waiter-stop": 6, "waiter-kill": 4, "waiter-term": 2, "all-kill": 4,
}
BOUNDED = {"del": 5, "flushall": 3, "overwrite": 2, "restart-empty": 2, "clock-forward": 3,
           "release-now": 3}
UNPROTECTED = {"both-kill": 4, "both-stop": 4, "blackhole": 4}
KINDS = {"G": GUARANTEED, "B": BOUNDED, "U": UNPROTECTED}
SERVER = {"redis-stop", "redis-restart", "pause", "refuse", "oom", "restart-empty"}
NETWORK = {"blackhole", "drop", "hold", "late", "reset", "duplicate", "drip", "late-then-cut",
           "replay-then-cut"}
HELD_BACK = 1520  # ms at most
REST = 1.2     # s between two faults of one client's processes: its guard must be back


@dataclass
class Item:
    at: float        # s after the start
    lasts: float
    kind: str
    at_holder: bool
    everybody: bool  # a network fault for all clients
    dice: float      # for the rest that is to be chosen


def schedule(seed, kind, seconds, lease, only=()):
    rng = random.Random(f"{seed}:nemesis")
    kinds = {k: n for k, n in KINDS[kind].items() if not only or k in only}
    if only and set(only) - set(KINDS[kind]):
        raise SystemExit(f"class {kind} has no {', '.join(set(only) - set(KINDS[kind]))}")
    items, at = [], 0.3
    while at < seconds:
        item = Item(at, rng.uniform(0.3, 2.2) * lease, rng.choices(*zip(*kinds.items()))[0],
                    rng.random() < 0.7, rng.random() < 0.2, rng.random())
        if kind == "U":  # what cannot be survived, so that it cannot be overlooked
            item.lasts, item.at_holder, item.everybody = 2.5 * lease, True, False
        items.append(item)
        at += rng.uniform(0.17, 1.2) * lease
    return items


class Nemesis(threading.Thread):
    def __init__(self, plan, server, monitor, proxy, workers):
        super().__init__(daemon=True)
        self.plan, self.server, self.monitor = plan, server, monitor
        self.proxy, self.workers = proxy, workers
        self.items = schedule(plan.seed, plan.kind, plan.seconds, plan.terms.ttl / 1e9, plan.only)
        self.faults, self.clock_steps, self.helpers = [], [], []
        self.queue, self.number = [], 0
        self.busy = {}          # what is faulty, or rests: until when
        self.trouble = None     # an exception: the run is not worth anything

    # --- the loop --------------------------------------------------------------------------------

    def run(self):
        try:
            start = time.monotonic()
            for item in self.items:
                self.after(start + item.at - time.monotonic(), lambda i=item: self.begin(i))
            while self.queue:
                when, _, act = heapq.heappop(self.queue)
                time.sleep(max(0.0, when - time.monotonic()))
                try:
                    act()
                except (OSError, RedisError):
                    pass  # a server that another fault has taken away; the end heals everything
        except Exception as error:  # pylint: disable=broad-except
            self.trouble = error
        finally:
            self.proxy.order("*", "pass")

    def after(self, seconds, act):
        self.number += 1
        heapq.heappush(self.queue, (time.monotonic() + seconds, self.number, act))

    def claim(self, what, seconds):
        """False: it has a fault already."""
        if self.busy.get(what, 0) > time.monotonic():
            return False
        self.busy[what] = time.monotonic() + seconds
        return True

    def begin(self, item):
        kind = item.kind
        worker = self.waiter(item) if kind.startswith("waiter-") else self.victim(item)
        if worker is None:
            return
        whole = item.lasts * (2.1 if "then" in kind else 1)
        if kind in SERVER:
            fits, target = self.claim("server", item.lasts + 0.5), "server"
        elif kind in NETWORK:
            target = "*" if item.everybody and kind != "replay-then-cut" else str(worker.number)
            fits = self.claim("net*", whole if target == "*" else 0) and (
                target == "*" or self.claim("net" + target, whole))
        elif kind.startswith(("dlock-", "guard-", "both-", "all-", "waiter-")):
            target = str(worker.number)
            fits = self.claim("process" + target, item.lasts + REST)
        else:
            target, fits = "server", True
        if not fits:
            return
        fault = Fault(boot_ns(), 0, kind, target)
        try:
            act = getattr(self, kind.replace("-", "_"))
            done = act(item, worker, target)
        except (OSError, RedisError) as error:
            done, fault.target = True, f"{target} ({error})"
        if kind in SERVER:  # from when it was told
            self.busy["server"] = time.monotonic() + item.lasts + 0.5
        if done is not False:
            self.faults.append(fault)
            self.after(0 if done is True else whole, lambda: self.note_end(fault))

    @staticmethod
    def note_end(fault):
        fault.end = boot_ns()

    def victim(self, item):
        """The holder of some lock, or anybody. `replay` needs one that still waits."""
        by_pid = {run.pid: w for w in self.workers if (run := w.now[0])}
        rng = random.Random(item.dice)
        holders = []
        try:
            with self.server.client(timeout=0.2) as client:
                for lock in self.plan.locks:
                    for owner in client.call("HKEYS", "dlock:" + lock):
                        pid = owner.removesuffix(":write").rsplit(":", 1)[-1]
                        worker = by_pid.get(int(pid) if pid.isdigit() else 0)
                        holders += [worker] if worker else []
        except (OSError, RedisError, ValueError):
            pass
        if item.kind == "replay-then-cut":
            holders = [w for w in self.workers if w not in holders]
        return rng.choice(holders if holders and item.at_holder else self.workers)

    def waiter(self, item):
        """Mostly the first in some line, or anybody in one."""
        by_pid = {run.pid: w for w in self.workers if (run := w.now[0])}
        first, all_of_them = [], []
        try:
            with self.server.client(timeout=0.2) as client:
                for lock in self.plan.locks:
                    line = client.call("ZRANGE", "dlock:line:{dlock:%s}" % lock, 0, -1)
                    pids = [int(id_of(w).split("#")[0].rsplit(":", 1)[1]) for w in line]
                    there = [by_pid[pid] for pid in pids if pid in by_pid]
                    first += there[:1]
                    all_of_them += there
        except (OSError, RedisError, ValueError):
            pass
        some = first if item.at_holder else all_of_them
        return random.Random(item.dice).choice(some) if some else None

    # --- processes -------------------------------------------------------------------------------

    def dlock_stop(self, item, worker, _):
        run, process = worker.signal(signal.SIGSTOP)
        if run is None:
            return False
        self.after(item.lasts,
                   lambda: worker.now[0] is run and process.send_signal(signal.SIGCONT))
        return None

    def dlock_starve(self, item, worker, _):
        """As if it got a tenth of a processor."""
        run, process = worker.now
        if run is None:
            return False
        end = time.monotonic() + item.lasts

        def beat():
            if worker.now[0] is not run:
                return
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.009)
            process.send_signal(signal.SIGCONT)
            if time.monotonic() < end:
                self.after(0.001, beat)
        beat()
        return None

    def dlock_kill(self, _, worker, __):
        return worker.signal(signal.SIGKILL) != (None, None)

    def dlock_term(self, _, worker, __):
        return worker.signal(signal.SIGTERM) != (None, None)

    waiter_stop, waiter_kill, waiter_term = dlock_stop, dlock_kill, dlock_term

    def guard_kill(self, _, worker, __):
        return self.to_guard(worker.guard(), signal.SIGKILL)

    def guard_stop(self, item, worker, _):
        guard = worker.guard()
        self.after(item.lasts, lambda: self.to_guard(guard, signal.SIGCONT))
        return self.to_guard(guard, signal.SIGSTOP) and None

    @staticmethod
    def to_guard(guard, number):
        try:
            with open(f"/proc/{guard}/comm", encoding="utf-8") as file:
                if file.read().strip() != "lease-guard":
                    return False
            os.kill(guard, number)
            return True
        except OSError:
            return False

    def both_kill(self, _, worker, __):
        guard = worker.guard()
        if not guard:  # without one there is only dlock to kill
            return self.dlock_kill(None, worker, None)
        os.kill(guard, signal.SIGSTOP)  # else it would see the other's end
        done = self.dlock_kill(None, worker, None)
        os.kill(guard, signal.SIGKILL)
        return done

    def all_kill(self, item, worker, _):
        return worker.kill_all(0.05 * item.dice)

    def both_stop(self, item, worker, _):
        run, process = worker.signal(signal.SIGSTOP)  # dlock first: it would replace its guard
        if run is None:
            return False
        guard = guard_of(run.pid)
        self.to_guard(guard, signal.SIGSTOP)

        def go_on():
            self.to_guard(guard, signal.SIGCONT)
            if worker.now[0] is run:
                process.send_signal(signal.SIGCONT)
        self.after(2.5 * self.plan.terms.ttl / 1e9, go_on)
        return None

    # --- network ---------------------------------------------------------------------------------

    def network(self, item, target, *words):
        self.proxy.order(target, *words)
        self.after(item.lasts, lambda: self.proxy.order(target, "pass"))

    def blackhole(self, item, _, target):
        self.network(item, target, "blackhole")

    def drop(self, item, _, target):
        self.network(item, target, "drop")

    def hold(self, item, _, target):
        self.network(item, target, "hold", 20 + int(item.dice * (HELD_BACK - 20)))

    def late(self, item, _, target):
        self.network(item, target, "late", 20 + int(item.dice * 150))

    def reset(self, item, _, target):
        self.network(item, target, "reset")

    def duplicate(self, item, _, target):
        self.network(item, target, "duplicate")

    def drip(self, item, _, target):
        self.network(item, target, "drip")

    def late_then_cut(self, item, _, target):
        """Answers come just inside the limit of a call, then none: the lease must not be counted
        from an answer."""
        self.proxy.order(target, "late", int(self.plan.terms.call_limit / 1e6 * 0.85))
        self.after(item.lasts, lambda: self.network(item, target, "blackhole"))

    def replay_then_cut(self, item, _, target):
        """The grant's answer is lost for most of a lease, then one comes, then none: a replayed
        acquire must not count from the wrong request."""
        lease = self.plan.terms.ttl / 1e6
        self.proxy.order(target, "replay", int(lease * 0.8))
        self.after(2 * item.lasts, lambda: self.proxy.order(target, "pass"))

    # --- the server ------------------------------------------------------------------------------

    def redis_stop(self, item, _, __):
        self.server.process.send_signal(signal.SIGSTOP)
        self.after(item.lasts, lambda: self.server.process.send_signal(signal.SIGCONT))

    def redis_restart(self, item, _, __):
        self.server.kill()
        self.after(item.lasts * 0.6, self.come_back)

    def restart_empty(self, item, worker, target):
        self.redis_restart(item, worker, target)
        self.server.empty()

    def come_back(self):
        """Nobody gets in before MONITOR listens."""
        self.server.start()
        self.monitor.attach()
        self.server.open()

    def ask(self, *words):
        with self.server.client() as client:
            return client.call(*words)

    def undo(self, *words):
        """Again until the server has heard it, however busy the machine is."""
        try:
            self.ask(*words)
        except OSError:
            self.busy["server"] = time.monotonic() + 3  # no other fault of it begins before
            self.after(0.3, lambda: self.undo(*words))

    def pause(self, item, _, __):
        self.ask("CLIENT", "PAUSE", int(item.lasts * 1000), "ALL")

    def refuse(self, item, _, __):
        self.ask("CONFIG", "SET", "min-replicas-to-write", 1)
        self.after(item.lasts, lambda: self.undo("CONFIG", "SET", "min-replicas-to-write", 0))

    def oom(self, item, _, __):
        self.ask("CONFIG", "SET", "maxmemory", 1)
        self.after(item.lasts, lambda: self.undo("CONFIG", "SET", "maxmemory", 0))

    def client_kill(self, item, _, __):
        rng = random.Random(item.dice)
        with self.server.client() as client:
            for line in client.call("CLIENT", "LIST").splitlines():
                fields = dict(word.split("=", 1) for word in line.split())
                if fields.get("name") != "chaos" and rng.random() < 0.7:
                    try:
                        client.call("CLIENT", "KILL", "ID", fields["id"])
                    except RedisError:
                        pass  # it has gone by itself
        return True

    def pubsub_kill(self, *_):
        """Who waits hears nothing any more, until it has noticed."""
        self.ask("CLIENT", "KILL", "TYPE", "pubsub")
        return True

    def script_flush(self, *_):
        self.ask("SCRIPT", "FLUSH")
        return True

    def lock_of(self, item):
        return self.plan.locks[int(item.dice * 1000) % len(self.plan.locks)]

    def revoke(self, item, *_, now=False):
        words = ["force-release", "--yes", *(["--now"] if now else []), "--url", self.plan.url]
        with open(os.path.join(self.plan.folder, "force-release.log"), "ab") as log:
            self.helpers.append(subprocess.Popen(
                [*self.plan.dlock, *words, self.lock_of(item)], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=self.plan.environment, start_new_session=True))
        return True

    # --- what breaks the promise, with a bound ---------------------------------------------------

    def release_now(self, item, *_):
        return self.revoke(item, now=True)

    def delete(self, item, *_):
        self.ask("DEL", "dlock:" + self.lock_of(item))
        return True

    def flushall(self, *_):
        self.ask("FLUSHALL")
        return True

    def overwrite(self, item, *_):
        lock = "dlock:" + self.lock_of(item)
        self.ask("SET", lock, "a stranger's")
        self.after(item.lasts, lambda: self.undo("DEL", lock))

    def clock_forward(self, item, *_):
        ahead = (self.clock_steps[-1][1] if self.clock_steps else 0) + int(
            1.2 * self.plan.terms.ttl)
        with open(self.server.shift, "r+b") as file:
            before = boot_ns()
            file.write((ahead // 1000).to_bytes(8, "little"))
            file.flush()
        self.clock_steps.append((before, ahead))
        return True


setattr(Nemesis, "del", Nemesis.delete)
