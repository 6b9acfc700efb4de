# SPDX-License-Identifier: BSD-2-Clause
# An asyncio program with three plugins that use 6, 3 and 1 parts of its time.
# Commands on stdin: "truth" prints what each has used (thread CPU time, ns),
# "gc N" collects N times, "run S" waits until the plugins have used S seconds more
# (its answer says what each had used "before"); each is answered by a line, which says
# too in how many turns of the loop that was.
import asyncio, gc, importlib, json, os, selectors, sys, time

gc.disable()
used = {}
runs = []
turns = 0


class Selector(selectors.EpollSelector):
    def select(self, timeout=None):
        global turns
        turns += 1
        return super().select(timeout)


def answer(**more):
    answer = {"used": used, "turns": turns, "gc": sum(s["collections"] for s in gc.get_stats()), **more}
    print("answer", json.dumps(answer), flush=True)


def command():
    words = sys.stdin.readline().split()
    if words[:1] == ["run"]:
        runs.append((sum(used.values()) + int(words[1]) * 10**9, dict(used)))
        return
    if words[:1] == ["gc"]:
        for _ in range(int(words[1])):
            gc.collect()
    answer()


async def plugin(name, work):
    module = importlib.import_module(name)
    used[name] = 0
    while True:
        begin = time.thread_time_ns()
        module.work(work)
        used[name] += time.thread_time_ns() - begin
        if runs and sum(used.values()) >= runs[0][0]:
            answer(before=runs.pop(0)[1])
        await asyncio.sleep(0.001)


async def main():
    asyncio.get_running_loop().add_reader(0, command)
    print("ready", os.getpid(), flush=True)
    await asyncio.gather(plugin("heavy", 30000), plugin("middle", 15000), plugin("light", 5000))


asyncio.SelectorEventLoop(Selector()).run_until_complete(main())
