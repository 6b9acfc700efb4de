# SPDX-License-Identifier: BSD-2-Clause
# An asyncio program: each line on stdin is how often `sleeper` naps for 50 ms in one
# turn, which is then answered. Beside it another thread works in `heavy`.
import asyncio, os, sys, threading, heavy, sleeper

stop = threading.Event()


def command():
    for _ in range(int(sys.stdin.readline())):
        sleeper.nap()
    print("answer", flush=True)


def works():
    while not stop.wait(0.001):
        heavy.work(3000)


async def main():
    asyncio.get_running_loop().add_reader(0, command)
    threading.Thread(target=works, daemon=True).start()
    print("ready", os.getpid(), flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
