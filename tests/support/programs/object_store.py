#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A store of objects with conditional PUT, for tests/examples.bats.

    object_store.py HISTORY_FILE

Listens on a free loopback port, prints it, and ends by itself after 120 s. GET answers with the
object and an ETag made from its content; PUT obeys If-Match and If-None-Match: *, and answers 412
where they do not hold. Every PUT that was carried out adds the first line of the object to
HISTORY_FILE. Answers come after a random pause, so that writers get in each other's way.
"""
import hashlib
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

objects, one_at_a_time = {}, threading.Lock()


def etag_of(path):
    return '"%s"' % hashlib.md5(objects[path]).hexdigest() if path in objects else None


class Store(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", etag=None):
        time.sleep(random.uniform(0, 0.03))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if etag:
            self.send_header("ETag", etag)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with one_at_a_time:
            body, etag = objects.get(self.path), etag_of(self.path)
        if body is None:
            self.answer(404)
        else:
            self.answer(200, body, etag)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with one_at_a_time:
            etag, match = etag_of(self.path), self.headers.get("If-Match")
            unwanted = self.headers.get("If-None-Match") == "*" and etag is not None
            holds = not unwanted and match in (None, etag)
            if holds:
                objects[self.path] = body
                with open(sys.argv[1], "ab") as history:
                    history.write(body.split(b"\n")[0] + b"\n")
        self.answer(200 if holds else 412)


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 128


server = Server(("127.0.0.1", 0), Store)
print(server.server_port, flush=True)
threading.Timer(120, server.shutdown).start()
server.serve_forever()
