# SPDX-License-Identifier: BSD-2-Clause
"""For each line with a number: so many collections, threads that come and go, and a child."""
import gc
import os
import sys
import threading


def use_cpu(seconds):
    end = os.times().user + seconds
    while os.times().user < end:
        sum(range(1000))


def turn(collections):
    threads = [threading.Thread(target=use_cpu, args=(0.1,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(collections):
        gc.collect()
    child = os.fork()
    if not child:
        use_cpu(0.2)
        os._exit(0)
    for thread in threads:
        thread.join()
    os.waitpid(child, 0)


gc.disable()
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    turn(int(line))
    print("ok", flush=True)
