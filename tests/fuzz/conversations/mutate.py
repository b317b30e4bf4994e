# SPDX-License-Identifier: MIT
"""Changes an answer: its shape, how many rows it has, its place in the conversation, or its bytes."""
import base64
import binascii
import copy
import json

from tree import Fixed, Frame, Group, Lie, Rows, as_bytes, honest

BOUNDS = (0, 1, 2, -1, -2, 127, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, -2**31, 2**32 - 1, 2**53 + 1,
          2**63 - 1, -2**63, 2**63, 2**64 - 1, 2**64, -2**64, 10**30)
KINDS = (0, -1, 7, b"", b"x", b"12", b"-1", b"9223372036854775807", None, [], [b"x"], [[]], {}, True)
TEXTS = (b"", b"\0", b"a\0b", b"\xff\xfe\x80", b"x", b" ", b"-", b"1e999", b"nan", b"0x10", b"1.5",
         b"\n", b"%s%n", b"{}", b"[]", b"null", b'{"a":', b"../../x", b"\xed\xa0\x80", b"'\"\\", b"\x1b[2J")
HUGE = (200, 5000, 70000, 1 << 20)


def alike(value, text):
    """The text as a value of the same kind."""
    if isinstance(value, str):
        return text.decode("utf-8", "surrogateescape")
    return type(value)(text) if isinstance(value, bytes) else text


class Mutator:
    def __init__(self, random, kinds=(), errors=lambda tree: []):
        self.random, self.kinds, self.errors, self.told = random, KINDS + tuple(kinds), errors, []

    def tell(self, *words):
        self.told.append(" ".join(str(word)[:120] for word in words))

    def change(self, raw, tree, write, earlier):
        """(what to send, whether to hang up then); `earlier` are the answers so far."""
        ways = (self.shape, self.fewer, self.whole, self.bytes)
        way = self.random.choices(ways, (42, 25, 18, 15))[0]
        return way(raw, tree, write, earlier)

    # --- the shape -----------------------------------------------------------------------------

    def shape(self, _raw, tree, write, _earlier):
        top = Group([copy.deepcopy(tree)])
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            self.shape_of(top)
        return write(top), False

    def place(self, holder):
        """(holder, key) of a value: one of many in a deep list is as likely as one of few above it."""
        key = None
        while holder:
            key = self.random.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
            value = honest(holder[key])[0]
            if not value or not isinstance(value, (list, dict)) or self.random.random() < 0.25:
                break
            holder = value
        return holder, key

    def shape_of(self, top):
        holder, key = self.place(top)
        if key is None:
            return
        value = holder[key]
        ways = [self.drop, self.double, self.swap, self.thin]
        if isinstance(value, Lie):
            pass
        elif isinstance(value, (list, dict)):
            ways += [self.empty, self.thin, self.many, self.lie]
        elif isinstance(value, (bytes, str)):
            ways += [self.text, self.text, self.lie, self.inside, self.inside]
        elif isinstance(value, int):
            ways += [self.number, self.number, self.number]
        if not isinstance(value, (Frame, Group)):
            ways += [self.kind, self.kind, self.nest]
        self.random.choice(ways)(holder, key)

    def fewer(self, raw, tree, write, earlier):
        """A result has no row, or not each; where an answer has no rows, a list has not each member.
        Each result is as likely, however much stands beside it."""
        top = Group([copy.deepcopy(tree)])
        lists = [(holder, key) for holder, key in places(top) if is_list(holder[key])]
        rows = [(holder, key) for holder, key in lists if isinstance(holder[key], Rows)]
        if not lists:
            return self.shape(raw, tree, write, earlier)
        holder, key = self.random.choice(rows or lists)
        self.random.choice((self.empty, self.empty, self.member, self.thin))(holder, key)
        return write(top), False

    def member(self, holder, key):
        value = holder[key]
        self.drop(value, self.random.choice(list(value) if isinstance(value, dict) else range(len(value))))

    def drop(self, holder, key):
        self.tell("drops", key, repr(holder[key]))
        del holder[key]

    def double(self, holder, key):
        if isinstance(holder, dict):
            holder[key + "x"] = copy.deepcopy(holder[key])
        else:
            holder.insert(key, copy.deepcopy(holder[key]))
        self.tell("doubles", key, repr(holder[key]))

    def many(self, holder, key):
        """The members of a list, over and over."""
        value = holder[key]
        if not isinstance(value, list):
            return
        times = self.random.choice((2, 10, 300)) if len(value) < 100 else 2
        self.tell("repeats", times, "times the members of", repr(value))
        value.extend(copy.deepcopy(one) for one in list(value) * times)

    def swap(self, holder, key):
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        other = self.random.choice(keys)
        self.tell("swaps", key, "and", other, repr(holder[key]), repr(holder[other]))
        holder[key], holder[other] = holder[other], holder[key]

    def thin(self, holder, key):
        """Some members of a list are left."""
        value = holder[key] if isinstance(holder[key], (list, dict)) else holder
        some = [k for k in (value if isinstance(value, dict) else range(len(value)))
                if self.random.random() < 0.5]
        self.tell("drops", some, "of", repr(value))
        for each in reversed(some):
            del value[each]

    def empty(self, holder, key):
        self.tell("empties", key, repr(holder[key]))
        holder[key].clear()

    def lie(self, holder, key):
        value = holder[key]
        size = self.random.choice((*BOUNDS, len(value) + 1, len(value) - 1, len(value) * 2))
        self.tell("says", size, "of", repr(value))
        holder[key] = Lie(value, size)

    def kind(self, holder, key):
        other = copy.deepcopy(self.random.choice(self.kinds))
        self.tell("puts", repr(other), "for", key, repr(holder[key]))
        holder[key] = other

    def nest(self, holder, key):
        depth = self.random.choice((1, 2, 20, 150))
        self.tell("nests", depth, "deep", repr(holder[key]))
        for _ in range(depth):
            holder[key] = [holder[key]]

    def number(self, holder, key):
        old = holder[key]
        new = self.random.choice((*BOUNDS, old + 1, old - 1, -old))
        self.tell("puts", new, "for", key, repr(old))
        holder[key] = Fixed(new, old.size) if isinstance(old, Fixed) else new

    def text(self, holder, key):
        old = as_bytes(holder[key])
        digits = old.lstrip(b"-").replace(b".", b"").isdigit()
        if digits and self.random.random() < 0.7:
            new = b"%d" % self.random.choice(BOUNDS)
        else:
            new = self.random.choice((
                lambda: self.random.choice(TEXTS), lambda: old[:self.random.randrange(len(old) + 1)],
                lambda: self.damaged(old), lambda: old + self.random.choice(TEXTS),
                lambda: (old or b"x") * (self.random.choice(HUGE) // (len(old) or 1) + 1)))()
        self.tell("puts", new[:100], "for", key, old)
        holder[key] = alike(holder[key], new)

    def inside(self, holder, key):
        """A text that holds JSON, as records of dlock do: its shape."""
        value = holder[key]
        for decode, encode in ((as_bytes, bytes), (base64.b64decode, base64.b64encode)):
            try:
                tree = json.loads(decode(as_bytes(value)))
            except (ValueError, binascii.Error, RecursionError):
                continue
            if isinstance(tree, (list, dict)):
                top = Group([tree])
                self.shape_of(top)
                text = json.dumps(plain(top[0] if top else None), separators=(",", ":"))
                holder[key] = alike(value, encode(text.encode("utf-8", "surrogateescape")))
                return
        self.text(holder, key)

    # --- its place -----------------------------------------------------------------------------

    def whole(self, raw, tree, write, earlier):
        way = self.random.choice(("drop", "repeat", "earlier", "before", *["error"] * 3, "end"))
        errors = self.errors(tree) if way == "error" else []
        self.tell("the answer:", way)
        if way == "drop":
            return b"", False
        if way == "repeat":
            times = min(self.random.choice((2, 3, 50, 2000)), (4 << 20) // (len(raw) + 1) + 2)
            return raw * times, False
        if way in ("earlier", "before") and earlier:
            other = self.random.choice(earlier)
            return (other + raw if way == "before" else other), False
        if errors:
            error = self.random.choice(errors)
            self.tell(repr(error))
            return write(Group([error])), False
        return b"", True

    # --- its bytes -----------------------------------------------------------------------------

    def bytes(self, raw, _tree, _write, _earlier):
        way = self.random.choice(("cut", "end", "damage", "damage", "insert"))
        at = self.random.randrange(len(raw) + 1)
        self.tell("the bytes:", way, "at", at)
        if way in ("cut", "end"):
            return raw[:at], way == "end"
        if way == "insert":
            more = self.random.randbytes(self.random.choice((1, 2, 8, 100)))
            return raw[:at] + more + raw[at:], False
        return self.damaged(raw), False

    def damaged(self, old):
        new = bytearray(old)
        for _ in range(self.random.choice((1, 1, 2, 5))):
            if new:
                at = self.random.randrange(len(new))
                other = new[at] ^ 1 << self.random.randrange(8)
                new[at] = self.random.choice((0, 0xFF, 0x7F, 0x80, other))
        return bytes(new)


def places(holder):
    """(holder, key) of each value."""
    for key in holder if isinstance(holder, dict) else range(len(holder)):
        yield holder, key
        if isinstance(holder[key], (list, dict)):
            yield from places(holder[key])


def is_list(value):
    """Whether it has members that may be more or fewer."""
    return bool(value) and isinstance(value, (list, dict)) and (
        isinstance(value, Rows) or not isinstance(value, Group))


def plain(value):
    """A tree as JSON has it."""
    if isinstance(value, Lie):
        return plain(value.value)
    if isinstance(value, dict):
        return {as_bytes(key).decode("utf-8", "surrogateescape"): plain(one)
                for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
