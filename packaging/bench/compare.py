# SPDX-License-Identifier: MIT
"""Is this run slower than a stored one?

A figure became slower if its median is worse than the worse quartile of the stored run, the stored
median is better than the better quartile of this run, and they differ by more than LEAST. On
another machine only figures without a unit of time are compared: ratios, counts and memory.
"""

from figures import is_figure

LEAST = 0.03  # of the stored median: less than that is not the program
TIMES = ("ms", "us", "_per_s", "percent", "core_carries")  # ends of names that depend on the machine
SAME = ("cpu", "cpus", "kernel")  # facts of one machine


def figures_of(tree, path=()):
    """(path, figure) of every figure in a result."""
    for name, value in tree.items():
        if is_figure(value):
            yield path + (name,), value
        elif isinstance(value, dict):
            yield from figures_of(value, path + (str(name),))


def is_worse(new, old):
    sign = -1 if old.get("better") == "more" else 1
    below, above = ("q1", "q3") if sign > 0 else ("q3", "q1")
    return (sign * (new["median"] - old[above]) > 0
            and sign * (new[below] - old["median"]) > 0
            and abs(new["median"] - old["median"]) > LEAST * abs(old["median"]))


def compare(result, stored):
    """Lines that name every figure that became slower, and how many figures were compared."""
    same = all(result["machine"].get(fact) == stored["machine"].get(fact) for fact in SAME)
    before = dict(figures_of(stored))
    lines, compared = [], 0
    for path, new in figures_of(result):
        if path not in before or not same and path[-1].endswith(TIMES):
            continue
        compared += 1
        old = before[path]
        if is_worse(new, old):
            change = (new["median"] / old["median"] - 1) * 100 if old["median"] else float("inf")
            lines.append(f"slower: {', '.join(path)}: {spread(old)} before, {spread(new)} now "
                         f"({change:+.0f} %)")
    return lines, compared, same


def spread(figure):
    return f"{figure['median']:.4g} ({figure['q1']:.4g}-{figure['q3']:.4g})"


def say(result, stored, name):
    """Prints what became slower; whether anything did."""
    lines, compared, same = compare(result, stored)
    for line in lines:
        print(line)
    if not same:
        print(f"{name} is of another machine: only ratios, counts and memory are compared")
    print(f"{len(lines)} of {compared} figures became slower than in {name}")
    return bool(lines)
