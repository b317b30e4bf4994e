# SPDX-License-Identifier: MIT
"""A name server: name_server.py ADDRESS READY RULES… answers each question on UDP port 53 of ADDRESS.

READY is a file that it makes when it listens. Each rule is TYPE=WHAT, TYPE one of A, AAAA and ANY,
and WHAT an address, or: nothing (no data), nxdomain, servfail, refused, silence; lose:N before the
answer keeps silent to the first N questions of that type. The first rule that fits counts.
"""
import socket
import struct
import sys

TYPES = {1: "A", 28: "AAAA"}
CODES = {"nothing": 0, "nxdomain": 3, "servfail": 2, "refused": 5}


def end_of_question(packet):
    at = 12
    while packet[at]:
        at += packet[at] + 1
    return at + 5


def answer(packet, what):
    end = end_of_question(packet)
    question = packet[12:end]
    code = CODES.get(what, 0)
    records = b""
    if what not in CODES:
        family = socket.AF_INET6 if ":" in what else socket.AF_INET
        data = socket.inet_pton(family, what)
        records = b"\xc0\x0c" + question[-4:] + struct.pack(">IH", 0, len(data)) + data
    head = packet[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, 1 if records else 0, 0, 0)
    return head + question + records


def main():
    address, ready, *rules = sys.argv[1:]
    rules = [rule.split("=", 1) for rule in rules]
    lost = {}
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))
    open(ready, "w").close()
    while True:
        packet, peer = server.recvfrom(4096)
        kind = TYPES.get(struct.unpack(">H", packet[end_of_question(packet) - 4 :][:2])[0], "?")
        what = next((w for t, w in rules if t in (kind, "ANY")), "nothing")
        if what.startswith("lose:"):
            _, count, what = what.split(":", 2)
            lost[kind] = lost.get(kind, 0) + 1
            if lost[kind] <= int(count):
                continue
        if what != "silence":
            server.sendto(answer(packet, what), peer)


main()
