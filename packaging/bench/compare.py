# SPDX-License-Identifier: MIT
"""Is this run slower than a stored one?

A figure became slower if its median is worse than the worse quartile of the stored run, the stored
median is better than the better quartile of this run, and they differ by more than LEAST. What is
not dlock is never named. If it took longer as well, or the machine is another one, figures with a
unit of time are left out: ratios, counts and memory remain.
"""

from figures import is_figure

LEAST = 0.03  # of the stored median: less than that is not the program
TIMES = ("ms", "us", "_per_s", "percent", "core_carries")  # ends of names that depend on the machine
NOT_DLOCK = ("true", "flock", "Redisson", "redis-cli wrapper", "etcdctl lock",
             "psql, advisory lock", "mariadb, GET_LOCK", "kazoo, in Python")  # rows of tables
SAME = ("cpu", "cpus", "kernel")  # facts of one machine


def figures_of(tree, path=()):
    """(path, figure) of every figure in a result."""
    for name, value in tree.items():
        if is_figure(value):
            yield path + (name,), value
        elif isinstance(value, dict):
            yield from figures_of(value, path + (str(name),))


def is_beyond(new, old):
    """Is the median worse than the worse quartile of the stored run?"""
    if old.get("better") == "more":
        return new["median"] < old["q1"]
    return new["median"] > old["q3"]


def is_worse(new, old):
    stored_is_better = (old["median"] > new["q3"] if old.get("better") == "more"
                        else old["median"] < new["q1"])
    return (is_beyond(new, old) and stored_is_better
            and abs(new["median"] - old["median"]) > LEAST * abs(old["median"]))


def slower_parts(before, now):
    """part -> the row of another program that took longer than in the stored run."""
    return {path[0]: path[1] for path, new in now.items()
            if path[1] in NOT_DLOCK and path[-1].endswith(TIMES)
            and path in before and is_beyond(new, before[path])}


def compare(result, stored):
    """Lines that name every figure that became slower; what was left out; and how many figures
    were compared."""
    same = all(result["machine"].get(fact) == stored["machine"].get(fact) for fact in SAME)
    before, now = dict(figures_of(stored)), dict(figures_of(result))
    busy = slower_parts(before, now) if same else {}
    lines, compared = [], 0
    for path, new in now.items():
        timeless = not same or path[0] in busy
        if path not in before or path[1] in NOT_DLOCK or timeless and path[-1].endswith(TIMES):
            continue
        compared += 1
        old = before[path]
        if is_worse(new, old):
            change = (new["median"] / old["median"] - 1) * 100 if old["median"] else float("inf")
            lines.append(f"slower: {', '.join(path)}: {spread(old)} before, {spread(new)} now "
                         f"({change:+.0f} %)")
    left_out = [f"{part}: {row} took longer as well" for part, row in busy.items()]
    if not same:
        left_out = ["all parts: it is of another machine"]
    return lines, left_out, compared


def spread(figure):
    return f"{figure['median']:.4g} ({figure['q1']:.4g}-{figure['q3']:.4g})"


def say(result, stored, name):
    """Prints what became slower; whether anything did."""
    lines, left_out, compared = compare(result, stored)
    for line in lines:
        print(line)
    for line in left_out:
        print(f"only ratios, counts and memory are compared in {line}")
    print(f"{len(lines)} of {compared} figures became slower than in {name}")
    return bool(lines)
