# SPDX-License-Identifier: MIT
"""The figures as tables for people, and two of them as a plot."""

import shutil
import subprocess


def table(title, head, rows):
    print(title)
    for row in [head] + rows:
        print("  " + f"{row[0]:<20}" + "".join(f"{cell(word):>14}" for word in row[1:]))
    print()


def cell(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def columns(values, *names):
    if "failed" in values:
        return [values["failed"]]
    return [values.get(name) for name in names]


def report(result):
    for name, value in result["machine"].items():
        print(f"  {name}: {value}")
    print()
    for part, (title, head, names) in PARTS.items():
        if part in result:
            rows = [[str(name)] + columns(values, *names) for name, values in result[part].items()]
            table(title, [""] + head, rows)
    if "instructions" in result:
        print("Instructions of one run in user mode, without the command (callgrind)")
        for name, count in result["instructions"].items():
            print(f"  {name:<20}{count:>14}")
        print()
    for part in result.get("left_out", []):
        print(f"  left out, the time was up: {part}")


PARTS = {
    "uncontended": (
        "One run of true, nobody else wants the lock; goal: at most 1.15 x flock",
        ["median ms", "p10 ms", "p90 ms", "x flock", "cpu ms", "cpu x flock"],
        ["median_ms", "p10_ms", "p90_ms", "x_flock", "cpu_ms", "cpu_x_flock"]),
    "contended": (
        "16 workers x 20 runs of true under one lock; goal: at least 0.5 x flock",
        ["seconds", "runs/s", "x flock"], ["seconds", "runs_per_s", "x_flock"]),
    "handoff": (
        "From the end of a command to the begin of the one that waits; goal: p50 < 1.5, p99 < 5",
        ["p50 ms", "p99 ms", "max ms", "hand-offs"], ["p50_ms", "p99_ms", "max_ms", "handoffs"]),
    "waiters": (
        "The same with many waiters, and commands that clients send (what scripts call is not\n"
        "counted); goal: at most 6 a hand-off, flat, and 0.5/s for each who waits",
        ["p50 ms", "p99 ms", "cmds/hand-off", "idle cmds/s"],
        ["p50_ms", "p99_ms", "commands_per_handoff", "idle_commands_per_waiter_s"]),
    "waiter": (
        "One that waits, with the processes it runs to do so; goal: under 1536 KiB, no guard",
        ["private KiB", "threads", "processes", "cpu ms/s", "commands/s"],
        ["private_kib", "threads", "processes", "cpu_ms_per_s", "commands_per_s"]),
    "holder": (
        "One that holds; goal: 3 commands per ttl",
        ["commands/ttl", "private KiB", "guard's KiB"],
        ["commands_per_ttl", "private_kib", "guard_private_kib"]),
}

PLOT = """
set terminal svg size 900,380 font 'sans-serif,12' background '#ffffff'
set output '{out}'
set multiplot layout 1,2 title "{title}" font ',11'
set logscale x
set xlabel 'waiters'
set xrange [{least}*0.7:{most}*1.4]
set xtics ({tics})
set yrange [0:*]
set grid ytics
set key top left
set title 'hand-off: end of a command to begin of the next, ms'
plot $data using 1:2 with linespoints lw 2 pt 7 lc rgb '#1f77b4' title 'p50', \\
     $data using 1:3 with linespoints lw 2 pt 6 lc rgb '#d62728' title 'p99'
set title 'commands that clients send to the server per hand-off'
set yrange [0:7<*]
plot $data using 1:4 with linespoints lw 2 pt 7 lc rgb '#1f77b4' title 'dlock', \\
     6 with lines dt 2 lc rgb '#888888' title 'goal'
unset multiplot
"""


def plot(result, out):
    """Draws the hand-off against the number of waiters, if there is anything to draw."""
    points = [v for v in result.get("waiters", {}).values() if "failed" not in v]
    if len(points) < 2:
        return None
    if not shutil.which("gnuplot"):
        return "no plot: gnuplot is not installed"
    data = "".join(f"{p['waiters']} {p['p50_ms']} {p['p99_ms']} {p['commands_per_handoff']}\n"
                   for p in points)
    facts = result["machine"]
    counts = [p["waiters"] for p in points]
    script = "$data << EOD\n" + data + "EOD\n" + PLOT.format(
        out=out, least=min(counts), most=max(counts), tics=", ".join(map(str, counts)),
        title=f"{facts['dlock']}, {facts['redis']}, {facts['cpus']} x {facts['cpu']}, "
              f"Linux {facts['kernel']}, load {facts['load_before']}")
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
    return f"drawn to {out}"
