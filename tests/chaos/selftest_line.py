# SPDX-License-Identifier: MIT
"""The self-test of what is checked on the waiting line: I15, I16, and line.py."""
from byhand import Stream, at, follow, good, green, red, stored, test, waiter
from history import MS, Fault, Held, Run, Stand
from order import of_the_living


# --- histories -----------------------------------------------------------------------------------

def wait(history, number, since, end, how="granted"):
    """A client that stands in line; its dlock lives on."""
    history.runs.append(Run(f"w{number}", "a", client=number, pid=number, start=at(since - 5),
                            end=at(90000), status=75))
    history.stands.append(Stand("a", f"uuid:{number}#1", at(since), at(end), how, [at(since)]))


def out_of_line(how, *faults):
    def change(history):
        wait(history, 7, 10, 9000, how)
        history.held.append(Held("a", "x", at(60), at(9500), "released"))
        history.faults += [Fault(at(start), at(end), kind, target)
                           for kind, target, start, end in faults]
    return change


def free_for(ms, *more, how="released"):
    """r2 gives the lock back at 52 ms, and it is free for so long."""
    def change(history):
        history.held[1].how = how
        if how != "released":
            history.held[1].released = 0
        wait(history, 7, 40, 52 + ms)
        history.held.append(Held("a", "x", at(52 + ms), at(90000), "released"))
        for act in more:
            act(history)
    return change


def frozen(number):
    def change(history):
        wait(history, number, 10 + number, 4000, "late")
        history.faults.append(Fault(at(0), at(9000), "dlock-stop", str(number)))
    return change


def hand_written():
    red("out of the line and well", "I15", out_of_line("late"))
    red("the same, as if it did not hear", "I15", out_of_line("deaf"))
    red("the same with a fault of another", "I15",
        out_of_line("late", ("dlock-stop", "3", 8000, 9000)))
    red("the same with a fault of long ago", "I15",
        out_of_line("late", ("dlock-stop", "7", 100, 1000)))
    red("the same with a fault that is none to it", "I15",
        out_of_line("deaf", ("script-flush", "server", 8500, 8500)))
    green("out of the line when frozen", out_of_line("late", ("dlock-stop", "7", 6000, 7000)))
    green("out of the line when cut off", out_of_line("deaf", ("blackhole", "*", 7000, 8900)))
    green("out of the line when the server let go",
          out_of_line("deaf", ("pubsub-kill", "server", 8000, 8000)))
    red("the same, but it has been heard of since", "I15", lambda h: (
        out_of_line("deaf", ("pubsub-kill", "server", 7000, 7000))(h),
        h.stands[-1].beats.extend([at(7300), at(7310)])))
    red("the same, but it came after that", "I15",
        out_of_line("deaf", ("pubsub-kill", "server", 5, 5)))
    green("a late copy of who has the lock", lambda h: (
        out_of_line("deaf")(h), h.runs[-1].events.append({"boot_ns": at(5), "event": "granted"})))
    green("out of the line when dead", lambda h: (
        out_of_line("deaf")(h), setattr(h.runs[-1], "end", at(8000))))
    green("out of the line when the disk was slow", lambda h: (
        out_of_line("late")(h), h.slow.append((at(7000), at(8200)))))
    red("the same long before", "I15", lambda h: (
        out_of_line("late")(h), h.slow.append((at(100), at(1300)))))
    green("leaving it", out_of_line("left"))
    green("out of the line in class B", out_of_line("late"), "B")

    red("a free lock and somebody in line", "I16", free_for(1400))
    green("one told at once", free_for(1200))
    green("the same in class B", free_for(9000), "B")
    green("one that was not told of the end of a lease", free_for(3000, how="expired"))
    red("the same for too long", "I16", free_for(3400, how="expired"))
    green("one behind a frozen one", free_for(4000, frozen(2)))
    red("one behind a frozen one for too long", "I16", free_for(6000, frozen(2)))
    green("a frozen one", lambda h: (
        free_for(9000)(h), h.faults.append(Fault(at(40), at(8000), "waiter-stop", "7"))))

    def never(history):
        wait(history, 7, 40, 9000, "left")
    red("a lock that nobody takes again", "I16", never)

    test("the longest wait of the living", of_the_living(made(free_for(1200))) == (1, 1.2))
    test("is not one of the frozen", of_the_living(made(free_for(900, frozen(2)))) == (1, 0.9))


def made(change):
    history = good()
    change(history)
    return history


# --- the store -----------------------------------------------------------------------------------

def held():
    """A has it; B stands in line, C behind it."""
    return Stream().acquire("A", 5).stand("B").stand("C")


def hand_written_store():
    line = held()
    line.release("A", *line.turn("B", behind="C")).acquire("B", 6, me=waiter("B"))
    line.release("B", *line.turn("C")).acquire("C", 7, me=waiter("C")).release("C")
    stored("two in line, one after the other", line)
    test("store: their stands", [(s.id, s.how) for s in follow(line).stands] == [
        ("B#1", "granted"), ("C#1", "granted")])

    line = held()
    line.release("A", *line.turn("B")).acquire("C", 6, me=waiter("C"))
    stored("granted to the second", line, "I15")
    line = held()
    line.release("A", *line.turn("B")).acquire("D", 6)
    stored("granted to a newcomer", line, "I15")
    line = held()
    line.release("A", *line.turn("C")).acquire("B", 6, me=waiter("B"))
    stored("offered to the second", line, "I15", "I16")
    stored("a release that offers to nobody", held().release("A"), "I16")
    line = held()
    stored("a turn without an end", line.release("A", *line.turn("B", life=0)), "I16")
    line = held()
    stored("a turn of an hour", line.release("A", *line.turn("B", life=3600000)), "I16")

    line = held()
    stored("leaving while it is held", line.leave("B").release("A", *line.turn("C")))
    line = held()
    line.release("A", *line.turn("B"))
    stored("leaving with the turn, and passing it on", line.leave("B", *line.turn("C")))
    line = held()
    line.release("A", *line.turn("B"))
    stored("leaving with the turn, and keeping it", line.leave("B"), "I16")

    def passed_over(after):
        line = held()
        line.release("A", *line.turn("B", behind="C")).after(after)
        return line.acquire("C", 6, me=waiter("C"), before=line.out(waiter("B")))
    stored("a turn that was not taken", passed_over(1010))
    test("store: which is late", follow(passed_over(1010)).stands[0].how == "late")
    stored("a turn that was cut short", passed_over(900), "I15")
    line = held()
    line.release("A", line.turn("B", life=0)[0], *line.out(waiter("B")), *line.turn("C"))
    stored("one who does not hear", line.acquire("C", 6, me=waiter("C")))
    test("store: it is deaf", follow(line).stands[0].how == "deaf")
    line = held()
    stored("the first is asked whether it lives", line.stand("D", line.probe("B")))
    line = held()
    stored("the second is asked whether it lives", line.stand("D", line.probe("C")), "I15")
    line = held()
    line.stand("D", line.probe("B"), *line.out(waiter("B")), line.probe("C"))
    stored("one who does not answer that", line)
    test("store: it is deaf as well", follow(line).stands[0].how == "deaf")
    stored("put out without a word", held().release("A", *Stream.out(waiter("B")),
                                                    *held().turn("C")), "I15")
    line = Stream().stand("B").acquire("B", 5, me=waiter("B"))
    del line.lines[-2:]
    stored("a place that is kept after the grant", line, "I15")

    stored("a beat", held().after(900).renew("A").stand("B", again=True))
    stored("a life of an hour", Stream().acquire("A", 5).stand("B", life=3600000), "I16")
    stored("standing before others", held().stand("D", score=5), "I15")
    stored("standing again at the end", held().stand("B"), "I7")
    stored("a look", Stream().acquire("A", 5).after(900).renew("A", ttl="0").after(99).release("A"))
    stored("a look that is taken for a renewal", Stream().acquire("A", 5).after(900).renew(
        "A", ttl="0").after(200).acquire("B", 6))
    looks = Stream().acquire("A", 5).after(900)
    looks.script("renew", ["dlock:a", "dlock:holds:{dlock:a}", "dlock:revoked:{dlock:a}"],
                 ["1", "0", "A", "exclusive", "{dlock:a}"],
                 ["HDEL", "dlock:holds:{dlock:a}", "A#1"],
                 ["HSET", "dlock:holds:{dlock:a}", "A#1", "{}"], ["PEXPIRE", "dlock:a", "1000"])
    stored("a look that extends the lease", looks, "I7")
