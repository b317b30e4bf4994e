# SPDX-License-Identifier: MIT
"""Server time of the scripts, beside Redisson's, and the commands that they call."""

from figures import figure, ratio
from machine import server_ms
from recorded import Client, command, first_word, recording
from redisson_holder import ACQUIRE, RELEASE

PAIRS = 200  # acquire and release, in one block of a loop
AT_ONCE = 25  # of them in one write: a pipeline


class Loop:
    """Blocks of acquire and release on one connection, and what they took of the server."""

    def __init__(self, servers, client, pair, answers):
        """`pair` makes the commands of one acquire and release; so begins what they answer."""
        self.servers, self.client, self.pair, self.answers = servers, client, pair, answers
        self.number = 0

    def block(self):
        """Microseconds of one acquire and release: within scripts, and of the whole server."""
        script, whole = self.script_us(), server_ms(self.servers.redis_pid)
        for _ in range(PAIRS // AT_ONCE):
            commands = [self.pair(self.number + i) for i in range(AT_ONCE)]
            self.number += AT_ONCE
            self.client.socket.sendall(b"".join(b"".join(each) for each in commands))
            for answer in self.answers * AT_ONCE:
                said = self.client.reply()
                if first_word(said) != answer:
                    raise SystemExit(f"bench: the server answered {said}, not {answer}")
        whole = (server_ms(self.servers.redis_pid) - whole) * 1e3 / PAIRS
        return (self.script_us() - script) / PAIRS, whole

    def script_us(self):
        text = self.servers.info("commandstats").get("cmdstat_evalsha", "usec=0,")
        return int(text.split("usec=", 1)[1].split(",", 1)[0])


def redisson_pair(client):
    """As its RLock sends them: the third command forgets the note of the release."""
    acquire, release = (client.call("SCRIPT", "LOAD", text) for text in (ACQUIRE, RELEASE))
    owner = "b0b0b0b0-0000-4000-8000-000000000000:57"
    key, channel = "redisson-000000", "redisson_lock__channel:{redisson-000000}"

    def pair(number):
        latch = f"redisson_unlock_latch:{{{key}}}:{number:032x}"
        return (command(["EVALSHA", acquire, 1, key, 30000, owner]),
                command(["EVALSHA", release, 3, key, channel, latch, "0", 30000, owner, "publish",
                         13500]), command(["DEL", latch]))

    return pair


def beside_redisson(one, servers, folder, blocks):
    sent = recording(one, servers)
    with Client(f"{folder}/redis.sock", timeout=30) as client:
        loops = [Loop(servers, client, redisson_pair(client), [None, 1, 1]),
                 Loop(servers, client, lambda number: (sent.acquire(number, 0),
                                                       sent.release(number, 0)),
                      ["granted", "released"])]
        both = [[loop.block() for loop in loops] for _ in range(blocks + 1)][1:]
    theirs, ours = zip(*both)
    return {
        "Redisson": {"script_us": figure([s for s, _ in theirs]),
                     "server_us": figure([w for _, w in theirs])},
        "dlock": {"script_us": figure([s for s, _ in ours]),
                  "server_us": figure([w for _, w in ours]),
                  "x_redisson": ratio([(a[0], b[0]) for a, b in both]),
                  "x_redisson_server": ratio([(a[1], b[1]) for a, b in both])}}


def commands(one, servers):
    sent = recording(one, servers)

    def count(*all_sent):
        return {"sent": figure([len(all_sent)]),
                "in_scripts": figure([sum(each.called for each in all_sent)])}

    return {"acquire": count(sent.acquire), "release": count(sent.release),
            "acquire and release": count(sent.acquire, sent.release),
            "renew": count(sent.renew), "refused": count(sent.refused),
            "heartbeat in line": count(sent.waiting), "hand-off": count(*sent.handoffs[0])}
