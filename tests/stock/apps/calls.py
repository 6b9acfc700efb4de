# SPDX-License-Identifier: BSD-2-Clause
# Calls functions in ways that are hard to pair: recursion, generators, coroutines,
# exceptions, waits. Commands on stdin: "work N" does N rounds and waits, "run N" goes on with
# rounds of N calls' worth of arithmetic between them until the next command, such as "end 0",
# which does nothing else; each other one is answered with how many calls there were of each
# function, and the CPU time.
import json, os, select, sys, time

calls = {}


def count(name, n=1):
    calls[name] = calls.get(name, 0) + n


def leaf(n):
    for i in range(n):
        n ^= i
    return n


def nested(n):
    return leaf(n) + leaf(n)


def numbers(n):
    for i in range(n):
        yield i


def throws(n):
    raise ValueError(n)


def passes(n):
    return throws(n)


def deeper(n):
    return n and deeper(n - 1)


async def waits(n):
    return leaf(n)


# Each wait ends the thread's stay on its CPU, which is its event: a call lies in four of them.
def naps():
    for _ in range(3):
        time.sleep(0.001)


def round_of(n):
    nested(n)
    for _ in numbers(3):
        pass
    try:
        passes(n)
    except ValueError:
        pass
    deeper(5)
    try:
        waits(n).send(None)
    except StopIteration:
        pass


# What a round makes of calls, by hand; a generator is entered each time it goes on.
ROUND = {"round_of": 1, "nested": 1, "leaf": 3, "numbers": 4, "throws": 1, "passes": 1, "deeper": 6, "waits": 1}


def rounds(k, n):
    for _ in range(k):
        round_of(n)
    count("rounds")
    for name, each in ROUND.items():
        count(name, each * k)


def waiting():
    return select.select([sys.stdin], [], [], 0)[0]


def main():
    print("ready", os.getpid(), flush=True)
    for line in sys.stdin:
        word, number = line.split()
        if word == "end":
            continue
        begin = time.thread_time_ns()
        calls.clear()
        if word == "work":
            rounds(int(number), 3)
            for _ in range(7):
                naps()
            count("naps", 7)
        while word == "run" and not waiting():
            rounds(50, int(number))
        print("answer", json.dumps({"calls": calls, "ns": time.thread_time_ns() - begin}), flush=True)


main()
