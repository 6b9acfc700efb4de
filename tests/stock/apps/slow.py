# SPDX-License-Identifier: BSD-2-Clause
# An asyncio program with three plugins that are quick, until "hold N" on stdin: then
# heavy holds the loop N times, 2 s of CPU time each.
import asyncio, importlib, os, sys, time

holds = []


def command():
    words = sys.stdin.readline().split()
    if words[:1] == ["hold"]:
        holds.append(int(words[1]))
    elif not words:
        os._exit(0)


async def plugin(name):
    module = importlib.import_module(name)
    while True:
        if name == "heavy" and holds:
            for _ in range(holds.pop()):
                end = time.thread_time_ns() + 2_000_000_000
                while time.thread_time_ns() < end:
                    module.work(20000)
                await asyncio.sleep(0.05)
            print("answer", flush=True)
        module.work(2000)
        await asyncio.sleep(0.002)


async def main():
    asyncio.get_running_loop().add_reader(0, command)
    print("ready", os.getpid(), flush=True)
    await asyncio.gather(plugin("heavy"), plugin("middle"), plugin("light"))


asyncio.run(main())
