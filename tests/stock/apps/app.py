# SPDX-License-Identifier: BSD-2-Clause
# An asyncio program with three plugins that use 6, 3 and 1 parts of its time.
# Commands on stdin: "truth" prints what each has used (thread CPU time, ns),
# "gc N" collects N times; each is answered by a line.
import asyncio, gc, importlib, json, os, sys, time

gc.disable()
used = {}


def command():
    words = sys.stdin.readline().split()
    if words[:1] == ["gc"]:
        for _ in range(int(words[1])):
            gc.collect()
    answer = {"used": used, "gc": sum(s["collections"] for s in gc.get_stats())}
    print("answer", json.dumps(answer), flush=True)


async def plugin(name, work):
    module = importlib.import_module(name)
    used[name] = 0
    while True:
        begin = time.thread_time_ns()
        module.work(work)
        used[name] += time.thread_time_ns() - begin
        await asyncio.sleep(0.001)


async def main():
    asyncio.get_running_loop().add_reader(0, command)
    print("ready", os.getpid(), flush=True)
    await asyncio.gather(plugin("heavy", 30000), plugin("middle", 15000), plugin("light", 5000))


asyncio.run(main())
