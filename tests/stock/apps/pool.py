# SPDX-License-Identifier: BSD-2-Clause
# A pool of two threads that works for requests. Commands on stdin, each answered by a line:
#   jobs N MS    N requests of that much CPU time each, one after the other
#   polled N MS  the same, after a wait of 1 ms each in poll()
import concurrent.futures
import json
import os
import select
import sys
import time

GAP = 0.05  # so that whoever has worked waits for work again

def works(ms, polls):
    begin = time.thread_time_ns()
    if polls:
        select.select([], [], [], 0.001)
    while time.thread_time_ns() - begin < ms * 1000000:
        pass
    return time.thread_time_ns() - begin


pool = concurrent.futures.ThreadPoolExecutor(2)
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    words = line.split()
    used = 0
    for _ in range(int(words[1])):
        time.sleep(GAP)
        used += pool.submit(works, int(words[2]), words[0] == "polled").result()
    print("answer", json.dumps({"used": used}), flush=True)
