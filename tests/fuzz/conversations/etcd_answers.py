# SPDX-License-Identifier: MIT
"""Answers of etcd: HTTP/1.1 with JSON; a watch answers in chunks, each a line of JSON."""
import json

from etcd_members import Etcd
from mutate import plain
from tree import Group, Raw, honest


class Store(Etcd):
    count = 1


def url(port):
    return f"etcd://127.0.0.1:{port}"


class Http(Group):
    """The lines of the head, and the body if it is not in chunks."""


class Chunk(Group):
    """One value of JSON."""


class Length(Raw):
    """The line that says how long the body is."""


KINDS = ("", "0", "-1", "9223372036854775807", "9223372036854775808", "eA==", "!", 1.5, 10**30,
         {"header": {}}, {"error": {"message": "x", "grpc_code": 14}},
         {"result": {"header": {}}})
STATUS = (b"400 Bad Request", b"401 Unauthorized", b"403 Forbidden", b"404 Not Found",
          b"429 Too Many Requests", b"500 Internal Server Error", b"503 Service Unavailable",
          b"301 Moved", b"204 No Content", b"200 OK")
CODES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 14, 16, 99, -1, 2**63)
MESSAGES = ("etcdserver: request timed out", "etcdserver: no leader", "etcdserver: invalid auth token",
            "etcdserver: requested lease not found", "etcdserver: lease already exists", "x", "",
            "etcdserver: mvcc: required revision has been compacted", "etcdserver: permission denied",
            "etcdserver: authentication is not enabled", "etcdserver: mvcc: database space exceeded")


def errors(_tree):
    found = []
    for number, message in enumerate(MESSAGES):
        body = {"error": message, "code": CODES[number], "message": message}
        for status in STATUS:
            found.append(Http([[Raw(b"HTTP/1.1 " + status), Raw(b"Content-Type: application/json"),
                                Length(b"")], body]))
        found.append(Chunk([{"error": {"grpc_code": CODES[number], "message": message}}]))
    return found


def text_of(tree):
    if isinstance(tree, Raw):
        return bytes(tree)
    text = json.dumps(plain(tree), separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogateescape")


def write(value):
    value, claimed = honest(value)
    if isinstance(value, Http):
        lines, body = (list(value) + [[], None])[:2] if value else ([], None)
        lines = honest(lines)[0]
        body, claimed = honest(body) if len(value) > 1 else (Raw(b""), None)
        text = text_of(body)
        size = b"Content-Length: %d" % (len(text) if claimed is None else claimed)
        lines = lines if isinstance(lines, list) else [lines]
        head = [size if isinstance(line, Length) else
                text_of(Raw(line) if isinstance(line, bytes) else line)
                for line in (honest(one)[0] for one in lines)]
        return b"\r\n".join(head) + b"\r\n\r\n" + text
    if isinstance(value, Chunk):
        text = b"".join(text_of(honest(one)[0]) for one in value) + b"\n"
        return b"%x\r\n" % ((len(text) if claimed is None else claimed) % 2**70) + text + b"\r\n"
    if isinstance(value, Group):
        return b"".join(map(write, value))
    return text_of(value)


class Stream:
    def __init__(self):
        self.data, self.chunked = b"", False

    def asked(self, data):
        pass

    def pending(self):
        return False

    def answers(self, data):
        self.data += data
        while self.data:
            tree, end = self.chunk() if self.chunked else self.http()
            if not end:
                return
            raw, self.data = self.data[:end], self.data[end:]
            yield raw, tree

    def chunk(self):
        end = self.data.find(b"\r\n")
        if end < 0:
            return None, 0
        size = int(self.data[:end], 16)
        end += size + 4
        if len(self.data) < end:
            return None, 0
        self.chunked = size > 0
        text = self.data[end - 2 - size:end - 2]
        if not size or not text.endswith(b"\n"):
            return Raw(self.data[:end]), end
        return Chunk([json.loads(text)]), end

    def http(self):
        end = self.data.find(b"\r\n\r\n")
        if end < 0:
            return None, 0
        lines, body, end = [Raw(line) for line in self.data[:end].split(b"\r\n")], None, end + 4
        for number, line in enumerate(lines):
            name, _, value = line.lower().partition(b": ")
            if name == b"transfer-encoding":
                self.chunked = True
                return Http([lines]), end
            if name == b"content-length":
                body = self.data[end:end + int(value)]
                if len(body) < int(value):
                    return None, 0
                lines[number] = Length(line)
        try:
            tree = json.loads(body)
        except (TypeError, ValueError):
            tree = Raw(body or b"")
        return Http([lines, tree]), end + len(body or b"")
