# SPDX-License-Identifier: MIT
"""The figures as tables for people, and two of them as a plot."""

import shutil
import subprocess

from figures import is_figure, median


def table(title, head, rows):
    print(title)
    cells = [[""] + head] + [[row[0]] + [cell(value) for value in row[1:]] for row in rows]
    widths = [max(len(row[i]) for row in cells if i < len(row)) for i in range(len(head) + 1)]
    for row in cells:
        print("  " + row[0].ljust(widths[0])
              + "".join("  " + text.rjust(width) for text, width in zip(row[1:], widths[1:])))


def number(value):
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)


def cell(value):
    """A figure is its median, with the quartiles in brackets if they differ from it."""
    if value is None:
        return "-"
    if is_figure(value):
        low, high = number(value["q1"]), number(value["q3"])
        return number(value["median"]) + (f" ({low}-{high})" if value["n"] > 1 else "")
    return number(value)


def columns(values, names):
    if "failed" in values:
        return [values["failed"]]
    return [values.get(name) for name in names]


def report(result):
    for name, value in result["machine"].items():
        print(f"  {name}: {value}")
    print("  A figure is a median, with its quartiles in brackets; x flock is the median of the\n"
          "  ratios of pairs that were measured one after the other.\n")
    for part, (title, head, names) in PARTS.items():
        if part not in result:
            continue
        rows = [[name] + columns(values, names) for name, values in result[part].items()]
        table(title, head, rows)
        took = result["parts"][part]
        print(f"  {took['seconds']} s; the host took {took['stolen_percent']} % of the processors, "
              f"{took['idle_percent']} % were idle\n")
    for part in result.get("left_out", []):
        print(f"  left out, the time was up: {part}")


PARTS = {
    "uncontended": (
        "One run of true, no other process wants the lock; goal: at most 1.15 x flock",
        ["ms", "x flock", "cpu ms", "cpu x flock"], ["ms", "x_flock", "cpu_ms", "cpu_x_flock"]),
    **{part: ("One run of true by another dlock and by this one, in turns",
              ["the other's ms", "ms", "x the other"], ["other_ms", "ms", "x_other"])
       for part in ("other", "stores-other")},
    "instructions": (
        "Instructions of one run in user mode, without the command (callgrind); goal: 220000",
        ["instructions"], ["instructions"]),
    "contended": (
        "16 workers x 20 runs of true under one lock; goal: at least 0.65 x flock",
        ["runs/s", "x flock"], ["runs_per_s", "x_flock"]),
    "handoff": (
        "From the end of a command to the begin of the one that waits; goal: 1.5 x flock",
        ["p50 ms", "x flock", "p99 ms", "max ms", "hand-offs"],
        ["p50_ms", "x_flock", "p99_ms", "max_ms", "handoffs"]),
    "waiters": (
        "The same with many waiters, and commands that clients send (what scripts call is not\n"
        "counted); goal: at most 6 a hand-off, flat, and 0.5/s for each waiter",
        ["p50 ms", "x flock", "p99 ms", "cmds/hand-off", "idle cmds/s"],
        ["p50_ms", "x_flock", "p99_ms", "commands_per_handoff", "idle_commands_per_waiter_s"]),
    "scripts": (
        "Server time of scripts, in a loop on one connection; goal: the pair 2 x Redisson's",
        ["us in the script", "us of the server", "x Redisson", "x (server)"],
        ["script_us", "server_us", "x_redisson", "x_redisson_server"]),
    "commands": (
        "Commands at the server, and how many more its scripts call; goal: 25 in a hand-off",
        ["sent", "in scripts"], ["sent", "in_scripts"]),
    "waiter": (
        "One that waits, with the processes it runs to do so; goal: under 1536 KiB, no guard",
        ["private KiB", "threads", "processes", "cpu ms/s", "commands/s"],
        ["private_kib", "threads", "processes", "cpu_ms_per_s", "commands_per_s"]),
    "holder": (
        "One that holds. Two real holders with short leases show what a renewal and a second cost;\n"
        "the longer times follow from them, for a lease of 30 s, renewed every 10 s",
        ["commands", "wake-ups", "guard's wake-ups", "PSS KiB", "guard's PSS KiB"],
        ["commands", "wakeups", "guard_wakeups", "pss_kib", "guard_pss_kib"]),
    "holders": (
        "Many real holders, each of a name of its own, on one server; leases of 30 s. Memory of the\n"
        "server: with two connections, only the keys of a lock, and what is left of them for a day",
        ["server B/holder", "keys B", "left B", "commands/s", "server cpu %", "PSS KiB",
         "guard's PSS KiB"],
        ["server_bytes", "lock_bytes", "bytes_left", "commands_per_s", "server_percent", "pss_kib",
         "guard_pss_kib"]),
    "capacity": (
        "What clients cost the server (played: scripts and subscriptions as dlock sends them), and\n"
        "how many of them one core of this machine carries, if it does nothing else",
        ["us of the server", "a core carries", "server B", "connections"],
        ["server_us", "core_carries", "server_bytes", "connections"]),
    "fleet": (
        "All of them at once, played: is the server's share of a core what the costs of few clients\n"
        "add up to? Times are those of an answer, or of a whole short run",
        ["clients", "per s", "expected cpu %", "cpu %", "p50 ms", "p99 ms", "server MiB", "errors"],
        ["clients", "per_s", "expected_percent", "server_percent", "p50_ms", "p99_ms",
         "server_mib", "errors"]),
    "stores-costs": (
        "Stores: one run of true, 16 workers x 20 runs, and a hand-off to one waiter, over TCP.\n"
        "\"survives\": what an acknowledged grant outlives; process: kill -9 of the server, host: a crash\n"
        "of its host, minority: the loss of one of three members as well",
        ["survives", "ms", "x flock", "cpu ms", "runs/s", "x flock", "hand-off p50 ms", "x flock",
         "p99 ms", "servers"],
        ["survives", "ms", "x_flock", "cpu_ms", "runs_per_s", "crowd_x_flock", "p50_ms",
         "turn_x_flock", "p99_ms", "settings"]),
    "stores-lines": (
        "Stores: hand-offs with 10 and with 100 waiters; x flock with one",
        ["survives", "10: p50 ms", "x flock", "p99 ms", "100: p50 ms", "x flock", "p99 ms"],
        ["survives"] + [f"of_{count}_{name}" for count in (10, 100)
                        for name in ("p50_ms", "x_flock", "p99_ms")]),
    "stores-rest": (
        "Stores: a waiter in a minute, and a holder (with its guard) in one lease of 6 s. Messages are\n"
        "TCP segments with data that it sent, bytes go both ways",
        ["survives", "waiter: KiB", "descriptors", "messages", "bytes", "wake-ups", "holder: KiB",
         "descriptors", "messages", "bytes", "wake-ups"],
        ["survives"] + [f"{role}_{name}" for role in ("waiter", "holder") for name in (
            "kib", "descriptors", "messages", "bytes", "wakeups")]),
    "stores-network": (
        "Stores with their server so far away: a run of true, its round trips (by the longest way), a\n"
        "hand-off to one waiter, and the exit status of a command of 5 s with a lease of 2 s",
        ["run, 0 ms", "0.5 ms", "20 ms", "round trips", "hand-off, 0 ms", "0.5 ms", "20 ms",
         "short lease, 0 ms", "0.5 ms", "20 ms"],
        [f"run_{trip}" for trip in (0, 0.5, 20)] + ["trips"]
        + [f"{name}_{trip}" for name in ("turn", "short") for trip in (0, 0.5, 20)]),
    "stores-fleet": (
        "Stores: real processes, half of them holders (lease 30 s), half waiters in lines of ten. What\n"
        "they cost the server; and its restart after a kill: seconds until it answers,\n"
        "from then until all are connected again, commands that were stopped, waiters that gave up.\n"
        "Messages are TCP segments with data that the clients sent",
        ["survives", "clients", "connections", "server MiB", "messages/s", "cpu %", "down s", "back s",
         "stopped", "gave up"],
        ["survives", "clients", "connections", "server_mib", "messages_per_s", "server_percent",
         "down_s", "back_s", "stopped", "gave_up"]),
    "stores-crash": (
        "Stores: seconds from the KILL of a holder with all its processes to the next grant, for a\n"
        "lease of so many seconds; after its end: counted from there",
        ["survives", "5", "10", "30", "after its end"],
        ["survives", "gap_s_5", "gap_s_10", "gap_s_30", "late_s"]),
    "stores-faults": (
        "Stores: what becomes of commands when a server fails: how many ended with which status (79:\n"
        "stopped, as the lease could not be renewed), and of the waiters (69: gave up, and came again);\n"
        "pairs that ran at once; seconds from the end of a command to the begin of the next, and from when\n"
        "the server is whole again",
        ["survives", "lasts s", "ended", "waiters", "overlaps", "gap s", "after s"],
        ["survives", "down_s", "ended", "waiters", "overlaps", "gap_s", "after_s"]),
    "quorum-alone": (
        "Quorum: one run of true, no other process wants the lock, over TCP; goal with 3 servers: at\n"
        "most 1.3 x one server. Of the libraries acquire and release, in a process that runs already",
        ["ms", "x 1 server"], ["ms", "x_one"]),
    "quorum-crowds": (
        "Quorum: clients that come at once, each wants the lock once, for 20 ms. Idle: from when one\n"
        "begins to release until the next holds; goal: at most 3 ms. Between: from the end of one\n"
        "command to the begin of the next. Messages: read and written by servers, for each grant; goal\n"
        "with 200 clients: a fifth of redsync's",
        ["grants in 30 s", "idle p50 ms", "mean ms", "between p50 ms", "messages"],
        ["grants", "idle_p50_ms", "idle_mean_ms", "between_p50_ms", "messages"]),
}

HEAD = """
set terminal svg size 900,380 font 'sans-serif,12' background '#ffffff'
set output '{out}'
set multiplot layout 1,2 title "{title}" font ',11'
set logscale x
set xlabel '{axis}'
set xrange [{least}*0.7:{most}*1.4]
set xtics ({tics})
set yrange [0:*]
set grid ytics
set key top left
"""

PLOT = """
set title 'hand-off: end of a command to begin of the next, ms'
plot $data using 1:2 with linespoints lw 2 pt 7 lc rgb '#1f77b4' title 'p50', \\
     $data using 1:3 with linespoints lw 2 pt 6 lc rgb '#d62728' title 'p99'
set title 'commands that clients send to the server per hand-off'
set yrange [0:7<*]
plot $data using 1:4 with linespoints lw 2 pt 7 lc rgb '#1f77b4' title 'dlock', \\
     6 with lines dt 2 lc rgb '#888888' title 'goal'
unset multiplot
"""


QUORUM_PLOT = """
set title 'lock free between two holds, median, ms'
plot {idle}
set title 'messages for each grant'
set logscale y
set yrange [*:*]
plot {messages}
unset multiplot
"""


def draw(result, out, counts, axis, points, commands):
    """Against these counts. `points`: the data blocks that the commands draw."""
    if not shutil.which("gnuplot"):
        return "no plot: gnuplot is not installed"
    facts = result["machine"]
    head = HEAD.format(out=out, axis=axis, least=min(counts), most=max(counts),
                       tics=", ".join(map(str, counts)),
                       title=f"{facts['dlock']}, {facts['redis']}, {facts['cpus']} x "
                             f"{facts['cpu']}, Linux {facts['kernel']}, load {facts['load_before']}")
    subprocess.run(["gnuplot"], input=points + head + commands, text=True, check=True)
    return f"drawn to {out}"


def plot_quorum(result, out):
    """Draws what a crowd costs against the number of clients, with three servers that live."""
    rows = [row for row in result.get("quorum-crowds", {}).values()
            if "failed" not in row and (row["servers"], row["dead"]) == (3, False)]
    kinds = {row["kind"]: [other for other in rows if other["kind"] == row["kind"]] for row in rows}
    counts = sorted({row["clients"] for row in rows})
    if len(counts) < 2:
        return None
    blocks = "".join(f"${kind.replace('-', '')} << EOD\n" + "".join(
        f"{row['clients']} {median(row['idle_p50_ms'])} {median(row['messages'])}\n"
        for row in points) + "EOD\n" for kind, points in kinds.items())

    def lines(column):
        return ", ".join(f"${kind.replace('-', '')} using 1:{column} with linespoints lw 2 pt 7 "
                         f"title '{kind}'" for kind in kinds)

    commands = QUORUM_PLOT.format(idle=lines(2), messages=lines(3))
    return draw(result, out, counts, "clients", blocks, commands)


def plot(result, out):
    """Draws the hand-off against the number of waiters, if there is anything to draw."""
    points = [v for v in result.get("waiters", {}).values() if "failed" not in v]
    if len(points) < 2:
        return None
    data = "".join(f"{p['waiters']} {median(p['p50_ms'])} {p['p99_ms']} "
                   f"{p['commands_per_handoff']}\n" for p in points)
    return draw(result, out, [p["waiters"] for p in points], "waiters",
                "$data << EOD\n" + data + "EOD\n", PLOT)
