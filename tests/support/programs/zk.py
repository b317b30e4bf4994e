#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A look into a ZooKeeper, by a client that has only what tests need of its protocol.

    zk.py PORT WORD…

    mode                 leader, follower or standalone; fails if the server does not serve
    children PATH        the names of its nodes, sorted, one a line; none if there is no such node
    tree PATH            the paths of all nodes below it, but those of ZooKeeper itself
    get PATH             its data
    owner PATH           the session of an ephemeral node, as 0x…
    create PATH DATA [USER:PASSWORD [RIGHTS]]   a node that stays; with a user nobody else has a right
                         to it, and he has these of cdrwa
    set PATH DATA
    delete PATH
    clean                deletes all nodes that may be deleted
    gone PATH SECONDS    when it has gone: the CLOCK_BOOTTIME in ms of the first look without it
    expire SESSION       closes another client's session
    sessions             how many there are
    move SESSION         takes another client's session over, and leaves it alive
    connections SECONDS  how many there were to PORT for most of that time: the median

What fails ends with 1 and says why. A call takes at most 5 s."""
import socket
import struct
import sys
import time

CREATE, DELETE, EXISTS, GET, SET, CHILDREN, AUTH, CLOSE = 1, 2, 3, 4, 5, 12, 100, -11
NO_NODE, NO_RIGHT = -101, -102
ANYONE, ITS_MAKER = ("world", "anyone"), ("auth", "")


def text(value):
    return struct.pack(">i", len(value)) + value


def acl(who, rights="cdrwa"):
    bits = sum(1 << "rwcda".index(right) for right in rights)
    return struct.pack(">ii", 1, bits) + b"".join(text(word.encode()) for word in who)


def password_of(session):
    """ZooKeeperServer.generatePasswd, with java.util.Random written out."""
    seed, found = (session ^ 0xB3415C00 ^ 0x5DEECE66D) & ((1 << 48) - 1), b""
    while len(found) < 16:
        seed = (seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        found += struct.pack("<I", seed >> 16)
    return found


class Refused(Exception):
    def __init__(self, error):
        super().__init__(f"ZooKeeper says {error}")
        self.error = error


class Session:
    """A new session, or another client's by its number. It ends with close(), not with us."""

    def __init__(self, port, number=0, user=None):
        self.connection = socket.create_connection(("127.0.0.1", port), 5)
        self.xid = 0
        password = password_of(number) if number else bytes(16)
        self.send(struct.pack(">iqiq", 0, 0, 10000, number) + text(password) + b"\0")
        _, timeout, self.number = struct.unpack(">iiq", self.frame()[:16])
        if timeout == 0:
            raise SystemExit("there is no such session")
        if user:
            self.send(struct.pack(">iii", -4, AUTH, 0) + text(b"digest") + text(user.encode()))
            self.answer()

    def send(self, body):
        self.connection.sendall(text(body))

    def bytes(self, count):
        found = b""
        while len(found) < count:
            more = self.connection.recv(count - len(found))
            if not more:
                raise SystemExit("the server has hung up")
            found += more
        return found

    def frame(self):
        return self.bytes(struct.unpack(">i", self.bytes(4))[0])

    def answer(self):
        frame = self.frame()
        error = struct.unpack(">iqi", frame[:16])[2]
        if error:
            raise Refused(error)
        return frame[16:]

    def ask(self, kind, body=b""):
        self.xid += 1
        self.send(struct.pack(">ii", self.xid, kind) + body)
        return self.answer()

    def close(self):
        self.ask(CLOSE)

    def exists(self, path):
        try:
            return self.ask(EXISTS, text(path.encode()) + b"\0")
        except Refused as refused:
            if refused.error != NO_NODE:
                raise
            return None

    def get(self, path):
        answer = self.ask(GET, text(path.encode()) + b"\0")
        size = max(0, struct.unpack(">i", answer[:4])[0])
        return answer[4:4 + size]

    def owner(self, path):
        stat = self.exists(path)
        if stat is None:
            raise Refused(NO_NODE)
        return struct.unpack(">q", stat[44:52])[0]

    def children(self, path):
        try:
            answer = self.ask(CHILDREN, text(path.encode()) + b"\0")
        except Refused as refused:
            if refused.error not in (NO_NODE, NO_RIGHT):
                raise
            return []
        count, at, found = struct.unpack(">i", answer[:4])[0], 4, []
        for _ in range(count):
            size = struct.unpack(">i", answer[at:at + 4])[0]
            found.append(answer[at + 4:at + 4 + size].decode())
            at += 4 + size
        return sorted(found)

    def tree(self, path):
        found = []
        for name in self.children(path):
            below = path.rstrip("/") + "/" + name
            if below != "/zookeeper":
                found += [below, *self.tree(below)]
        return found

    def clean(self):
        for path in reversed(self.tree("/")):
            try:
                self.ask(DELETE, text(path.encode()) + struct.pack(">i", -1))
            except Refused:
                pass  # of another user, or gone by itself


def told(port, word, start):
    """The rest of a line of the server's answer to a four-letter word."""
    with socket.create_connection(("127.0.0.1", port), 1) as connection:
        connection.sendall(word)
        said = b""
        while more := connection.recv(4096):
            said += more
    for line in said.decode().splitlines():
        if line.startswith(start):
            return line[len(start):].strip()
    raise SystemExit("it does not serve")


def expire(port, number):
    """Ends a session. Repeats that if the client takes the session over before it is closed."""
    session, end = Session(port, number), time.monotonic() + 5
    while True:
        try:
            return session.close()
        except (OSError, Refused, SystemExit):
            if time.monotonic() > end:
                raise
        session = Session(port, number)


def gone(session, path, seconds):
    end = time.monotonic() + seconds
    while session.exists(path) is not None:
        if time.monotonic() > end:
            raise SystemExit("it is still there")
        time.sleep(0.02)
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


def connections(port, seconds):
    """Returns the usual number of connections to the server in this time, as the kernel shows them."""
    wanted, counts, end = f":{port:04X}", [], time.monotonic() + seconds
    while time.monotonic() < end:
        counts.append(0)
        for table in ("tcp", "tcp6"):
            with open(f"/proc/net/{table}", encoding="ascii") as lines:
                for words in map(str.split, lines):
                    counts[-1] += words[1].endswith(wanted) and words[3] == "01"
        time.sleep(0.01)
    return sorted(counts)[len(counts) // 2]


def main(port, word, *rest):
    port = int(port)
    if word == "mode":
        return print(told(port, b"srvr", "Mode: "))
    if word == "sessions":
        return print(told(port, b"mntr", "zk_global_sessions"))
    if word == "connections":
        return print(connections(port, float(rest[0])))
    if word == "expire":
        return expire(port, int(rest[0], 16))
    if word == "move":
        return Session(port, int(rest[0], 16)) and None
    session = Session(port, user=rest[2] if word == "create" and len(rest) > 2 else None)
    path = rest[0].encode() if rest else b""
    try:
        if word in ("children", "tree"):
            for one in getattr(session, word)(rest[0]):
                print(one)
        elif word == "get":
            sys.stdout.buffer.write(session.get(rest[0]))
        elif word == "owner":
            print(hex(session.owner(rest[0])))
        elif word == "create":
            who = acl(ITS_MAKER, *rest[3:]) if len(rest) > 2 else acl(ANYONE)
            session.ask(CREATE, text(path) + text(rest[1].encode()) + who + struct.pack(">i", 0))
        elif word == "set":
            session.ask(SET, text(path) + text(rest[1].encode()) + struct.pack(">i", -1))
        elif word == "delete":
            session.ask(DELETE, text(path) + struct.pack(">i", -1))
        elif word == "clean":
            session.clean()
        elif word == "gone":
            print(gone(session, rest[0], float(rest[1])))
        else:
            raise SystemExit(f"there is no word {word}")
        return None
    finally:
        session.close()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, Refused) as trouble:
        sys.exit(str(trouble))
