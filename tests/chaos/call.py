# SPDX-License-Identifier: MIT
"""The words with which a script of dlock is called: who asks for what, about which of its locks."""
from line import id_of


class Call:
    """About one lock of a script, whose tag stands beside the words for it. `now` is of a
    revocation, `me` who it is in line."""

    def __init__(self, script, lock):
        self.kind, args = script.kind, script.args
        self.owner = self.id = self.me = ""
        self.ttl = self.keep = 0
        self.now = self.beside = False
        tag = "{dlock:%s}" % lock
        getattr(self, script.kind)(args, args.index(tag) if tag in args else 0)

    def acquire(self, args, _):
        self.owner, self.id, self.ttl = args[0], "#".join(args[:2]), int(args[2]) * 1000
        self.me, self.beside = args[4], args[5].startswith(("mode=shared", "mode=slots"))

    def renew(self, args, tag):
        self.owner, self.id = args[tag - 2], f"{args[tag - 2]}#{args[0]}"
        self.ttl = int(args[1]) * 1000

    def release(self, args, tag):
        self.owner, self.id = args[tag - 1], f"{args[tag - 1]}#{args[0]}"
        self.keep = int(args[tag + 1]) * 1000

    def leave(self, args, _):
        self.me, self.id = args[0], id_of(args[0])

    def revoke(self, args, _):
        self.id, self.now = args[0], args[1] == "1"

    def inspect(self, *_):
        pass
