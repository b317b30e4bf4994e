#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Locks as a Redisson client does: the scripts, the channel and the steps of its RLock.

    redisson_holder.py SOCKET KEY lock LEASE_MS [WAIT_MS]   prints `acquired COUNT` or `refused`
    redisson_holder.py SOCKET KEY hold LEASE_MS             lock, then obey the words on stdin:
                                                            `lock`, `unlock`, `renew`; a line each
    redisson_holder.py SOCKET KEY add LEASE_MS FILE TIMES   adds 1 to the number in FILE, so many
                                                            times, each time under the lock
    redisson_holder.py SOCKET KEY fenced LEASE_MS           takes an RFencedLock, prints its token,
                                                            releases it

Every message heard on the channel is printed as `message PAYLOAD`; times go with it, so that a test
can see that a waiter was woken and did not sleep to the end of the lease.
"""
import os
import socket
import sys
import time
import uuid

# The texts follow Redisson 4: hash field UUID:THREAD → hold count, lease on the key.
ACQUIRE = """
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])
"""
RELEASE = """
local done = redis.call('get', KEYS[3])
if done ~= false then return tonumber(done) end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end
local count = redis.call('hincrby', KEYS[1], ARGV[3], -1)
if count > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  redis.call('set', KEYS[3], 0, 'px', ARGV[5])
  return 0
end
redis.call('del', KEYS[1])
redis.call(ARGV[4], KEYS[2], ARGV[1])
redis.call('set', KEYS[3], 1, 'px', ARGV[5])
return 1
"""
RENEW = """
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 1
end
return 0
"""
FENCED = """
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  local token = redis.call('incr', KEYS[2])
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return {-1, token}
end
return {redis.call('pttl', KEYS[1]), -1}
"""


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.buffer = b""

    def send(self, *words):
        out = b"*%d\r\n" % len(words)
        for word in words:
            data = str(word).encode()
            out += b"$%d\r\n%s\r\n" % (len(data), data)
        self.socket.sendall(out)

    def fill(self):
        data = self.socket.recv(65536)
        if not data:
            sys.exit("redisson_holder.py: the server closed the connection")
        self.buffer += data

    def line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def reply(self):
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            sys.exit("redisson_holder.py: " + rest.decode())
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        size = int(rest)
        if size < 0:
            return None
        while len(self.buffer) < size + 2:
            self.fill()
        data, self.buffer = self.buffer[:size], self.buffer[size + 2:]
        return data.decode()

    def call(self, *words):
        self.send(*words)
        return self.reply()


class Lock:
    def __init__(self, path, key, lease):
        tagged = key if "{" in key else "{" + key + "}"
        self.path, self.key, self.lease = path, key, lease
        self.channel = "redisson_lock__channel:" + tagged
        self.token_key = "redisson_lock_token:" + tagged
        self.latch_of = lambda request: f"redisson_unlock_latch:{tagged}:{request}"
        self.owner = f"{uuid.uuid4()}:{os.getpid()}"
        self.commands = Connection(path)
        self.count = 0

    def try_once(self):
        ttl = self.commands.call("EVAL", ACQUIRE, 1, self.key, self.lease, self.owner)
        if ttl is None:
            self.count += 1
        return ttl

    def lock(self, wait=None):
        """Acquire, subscribe, acquire again, sleep until message or TTL, again."""
        ttl = self.try_once()
        if ttl is None:
            return True
        end = None if wait is None else time.monotonic() + wait / 1000
        ears = Connection(self.path)
        ears.call("SUBSCRIBE", self.channel)
        print("waiting", flush=True)
        try:
            return self.wait(ears, end)
        finally:
            ears.socket.close()

    def wait(self, ears, end):
        while True:
            ttl = self.try_once()
            if ttl is None:
                return True
            left = ttl / 1000 if ttl >= 0 else None
            if end is not None:
                left = min(x for x in (left, end - time.monotonic()) if x is not None)
                if left <= 0:
                    return False
            ears.socket.settimeout(left if left is None else max(left, 0.001))
            try:
                message = ears.reply()
                print(f"message {message[2]} {time.monotonic():.3f}", flush=True)
                int(message[2])  # Java parses it as a number, and throws where it is none
            except TimeoutError:
                print(f"lease-over {time.monotonic():.3f}", flush=True)

    def unlock(self):
        latch = self.latch_of(uuid.uuid4().hex)
        done = self.commands.call("EVAL", RELEASE, 3, self.key, self.channel, latch,
                                  "0", self.lease, self.owner, "publish", 13500)
        self.commands.call("DEL", latch)
        if done is None:
            sys.exit("not locked by current thread")
        self.count -= 1

    def renew(self):
        if self.commands.call("EVAL", RENEW, 1, self.key, self.lease, self.owner) != 1:
            sys.exit("lost")

    def fenced(self):
        ttl, token = self.commands.call("EVAL", FENCED, 2, self.key, self.token_key, self.lease,
                                        self.owner)
        if ttl != -1:
            sys.exit("refused")
        self.count += 1
        return token


def add(lock, path, times):
    for _ in range(times):
        lock.lock()
        with open(path, encoding="ascii") as file:
            number = int(file.read())
        time.sleep(0.002)
        with open(path, "w", encoding="ascii") as file:
            file.write(str(number + 1))
        lock.unlock()


def main():
    path, key, what, lease = sys.argv[1:5]
    lock = Lock(path, key, int(lease))
    if what == "fenced":
        print(lock.fenced())
        return lock.unlock()
    if what == "add":
        return add(lock, sys.argv[5], int(sys.argv[6]))
    got = lock.lock(int(sys.argv[5]) if len(sys.argv) > 5 else None)
    print(f"acquired {lock.count} {time.monotonic():.3f}" if got else "refused", flush=True)
    if what == "lock":
        return lock.unlock() if got else sys.exit(75)
    for line in sys.stdin:
        getattr(lock, line.strip())()
        print(f"{line.strip()}ed {lock.count}", flush=True)
    return None


if __name__ == "__main__":
    main()
