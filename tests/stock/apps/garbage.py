# SPDX-License-Identifier: BSD-2-Clause
# Collections of some 0.3 s each, in a program without a loop. Commands on stdin, each answered by a line, with times that passed:
#   collect N MS  N times: MS of CPU time in its own code, then a collection
import gc
import json
import os
import sys
import time

gc.disable()
kept = [[] for _ in range(10000000)]
took = []


def note(phase, info):
    took.append(time.monotonic_ns() * (1 if phase == "stop" else -1))


def works(ms):
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < ms * 1000000:
        pass


gc.callbacks.append(note)
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    words = line.split()
    took.clear()
    begin = time.monotonic_ns()
    for _ in range(int(words[1])):
        works(int(words[2]))
        gc.collect()
    used = time.monotonic_ns() - begin
    print("answer", json.dumps({"used": used, "gc": sum(took), "count": len(took) // 2}), flush=True)
