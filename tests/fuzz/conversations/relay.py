# SPDX-License-Identifier: MIT
"""Stands between one dlock and a real server, and changes answers on their way."""
import socket
import threading


class Plan:
    """From the answer `at` on, answers are changed: only it, it and some, or all. `at` 0: none."""

    def __init__(self, protocol, random, mutator, at):
        self.protocol, self.random, self.mutator, self.at = protocol, random, mutator, at
        self.share = random.choice((0, 0, 0, 0.3, 1))
        self.answers = self.changes = 0
        self.earlier, self.wrong = [], []
        self.lock, self.begun = threading.Lock(), False

    def begin(self):
        self.begun = True

    def goes_on(self):
        return self.answers > self.at and self.random.random() < self.share

    def turn(self, raw, tree):
        """(what is sent in place of an answer, whether the connection ends with it)"""
        with self.lock:
            if not self.begun:
                return raw, False
            self.answers += 1
            if not self.at:
                again = self.protocol.write(tree)
                if again != raw:
                    self.wrong.append(f"{raw!r} was written as {again!r}")
            elif self.answers == self.at or self.goes_on():
                self.changes += 1
                self.mutator.tell(f"[answer {self.answers}]")
                return self.mutator.change(raw, tree, self.protocol.write, self.earlier)
            if len(raw) < 5000 and len(self.earlier) < 200:
                self.earlier.append(raw)
            return raw, False


def hang_up(*ends):
    for end in ends:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Relay:
    def __init__(self, protocol, upstream, plan):
        self.protocol, self.upstream, self.plan = protocol, upstream, plan
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        self.ends, self.threads = [self.socket], []
        self.start(self.serve)

    def start(self, what, *words):
        thread = threading.Thread(target=what, args=words, daemon=True)
        self.threads.append(thread)
        thread.start()

    def serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
                server = socket.create_connection(("127.0.0.1", self.upstream))
            except OSError:
                return
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.ends += [client, server]
            stream = self.protocol.Stream()
            self.start(self.questions, client, server, stream)
            self.start(self.answers, client, server, stream)

    def questions(self, client, server, stream):
        try:
            while data := client.recv(65536):
                stream.asked(data)
                server.sendall(data)
        except OSError:
            pass
        hang_up(client, server)

    def answers(self, client, server, stream):
        try:
            while True:
                # An answer of which no more comes is all that there is.
                server.settimeout(0.02 if stream.pending() else None)
                try:
                    data = server.recv(65536)
                except TimeoutError:
                    found = [stream.all()]
                else:
                    if not data:
                        break
                    found = stream.answers(data)
                for raw, tree in found:
                    changed, ends = self.plan.turn(raw, tree)
                    client.sendall(changed)
                    if ends:
                        raise EOFError
        except (OSError, EOFError):
            pass
        except Exception as error:  # of ours: no answer of the server is read wrongly without a word
            self.plan.wrong.append(f"{type(error).__name__}: {error}")
            raise
        finally:
            hang_up(client, server)

    def close(self):
        hang_up(*self.ends)
        for thread in self.threads:
            thread.join(5)
        for end in self.ends:
            end.close()
