#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server that is no Redis, or a bad one.

usage: fake_server.py MODE [TEXT]

Listens on a free port of 127.0.0.1, prints the port, and treats every connection by MODE:

  silent      accepts and never answers
  garbage     answers random bytes without end (no CR LF in the first megabyte)
  http        answers like a web server
  tls         answers like a TLS server that was not spoken TLS to
  huge-bulk   "$536870912", then bytes without end
  huge-array  "*2147483647", then integers without end
  negative    "$-2"
  nested      ten thousand arrays in each other
  error       answers every command with the error TEXT
  repeat      answers every command with an error that repeats its words, as for an unknown one
  loading     "error" with the text of a server that reads its data set
  close       answers half a reply and closes
  reset       resets the connection after the first bytes
  drip        sends a reply of many bytes, one byte a second

Ends by itself after a minute.
"""

import os
import random
import signal
import socket
import struct
import sys
import threading
import time

LOADING = "LOADING Redis is loading the dataset in memory"


def pour(conn, first, piece):
    """Sends `first`, then `piece` until the other side has had enough."""
    conn.sendall(first)
    while True:
        conn.sendall(piece)


def commands(conn):
    """Yields once for every RESP command read from the connection."""
    file = conn.makefile("rb")
    while True:
        head = file.readline()
        if not head:
            return
        if not head.startswith(b"*"):
            yield head
            continue
        words = []
        for _ in range(int(head[1:])):
            size = int(file.readline()[1:])
            words.append(file.read(size + 2)[:-2])
        yield words


def answer_errors(conn, text):
    for _ in commands(conn):
        conn.sendall(b"-" + text.encode() + b"\r\n")


def repeat_words(conn):
    for words in commands(conn):
        said = b" ".join(b"`" + word[:128] + b"`," for word in words[1:])
        text = b"-ERR unknown command `" + words[0] + b"`, with args beginning with: " + said
        conn.sendall(text.replace(b"\r", b" ").replace(b"\n", b" ") + b"\r\n")


def drip(conn, text):
    for byte in text:
        conn.sendall(bytes([byte]))
        time.sleep(1)


def serve(conn, mode, text):
    with conn:
        try:
            if mode == "silent":
                while conn.recv(4096):
                    pass
            elif mode in ("error", "loading"):
                answer_errors(conn, text if mode == "error" else LOADING)
            elif mode == "repeat":
                repeat_words(conn)
            else:
                conn.recv(1)
                if mode == "garbage":
                    noise = random.Random(1).randbytes(1 << 20)
                    noise = noise.replace(b"\r", b"\0").replace(b"\n", b"\0")
                    pour(conn, b"\x07" + noise, noise)
                elif mode == "http":
                    conn.sendall(
                        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<html></html>"
                    )
                elif mode == "tls":
                    conn.sendall(b"\x15\x03\x03\x00\x02\x02\x46")
                elif mode == "huge-bulk":
                    pour(conn, b"$536870912\r\n", b"x" * 65536)
                elif mode == "huge-array":
                    pour(conn, b"*2147483647\r\n", b":1\r\n" * 16384)
                elif mode == "negative":
                    conn.sendall(b"$-2\r\n")
                    conn.recv(65536)
                    time.sleep(60)
                elif mode == "nested":
                    pour(conn, b"*1\r\n" * 10000, b"*1\r\n" * 16384)
                elif mode == "close":
                    conn.sendall(b"*2\r\n$7\r\ngran")
                elif mode == "reset":
                    linger = struct.pack("ii", 1, 0)
                    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                elif mode == "drip":
                    drip(conn, b"*2\r\n$100\r\n" + b"x" * 100)
        except (OSError, ValueError):
            pass  # the other side left, as it should


def main():
    mode = sys.argv[1]
    text = sys.argv[2] if len(sys.argv) > 2 else "ERR no"
    signal.alarm(60)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    server = socket.create_server(("127.0.0.1", 0), backlog=64)
    print(server.getsockname()[1], flush=True)
    while True:
        conn, _ = server.accept()
        threading.Thread(target=serve, args=(conn, mode, text), daemon=True).start()


main()
