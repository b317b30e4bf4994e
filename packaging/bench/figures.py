# SPDX-License-Identifier: MIT
"""A figure: what was measured several times, as its median and quartiles.

What is compared is measured in pairs, A B A B …, one directly after the other, so that a machine
that becomes busy slows both; the ratio of each pair is one value. Numbers in a result that are no
figures are facts, which no comparison judges.
"""

import statistics


def figure(values, more=False):
    """`more`: more of it is better, as of a throughput."""
    values = sorted(values)
    if not values:
        return None
    low, median, high = values * 3 if len(values) == 1 else statistics.quantiles(
        values, n=4, method="inclusive")
    whole = {"median": median, "q1": low, "q3": high, "n": len(values)}
    return {**whole, "better": "more"} if more else whole


def ratio(pairs, more=False):
    """Of the second of each pair to the first."""
    return figure([b / a for a, b in pairs if a > 0], more)


def is_figure(value):
    return isinstance(value, dict) and {"median", "q1", "q3"} <= set(value)


def median(value):
    return value["median"] if is_figure(value) else value
