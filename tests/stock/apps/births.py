# SPDX-License-Identifier: BSD-2-Clause
# Begins what works in the plugin `worker` for 60 ms of CPU time: for each line on stdin a
# "fork" or a "thread". It says first which thread it is and when it began, by the
# monotonic clock; the line is answered when it has ended. "brief N": N threads, one after
# the other, that end at once.
import os, sys, threading, time, worker


def work():
    os.write(1, f"began {threading.get_native_id()} {time.monotonic_ns()}\n".encode())
    end = time.thread_time_ns() + 60_000_000
    while time.thread_time_ns() < end:
        worker.work(1000)


print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    words = line.split()
    if words[0] == "brief":
        for _ in range(int(words[1])):
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()
    elif words[0] == "thread":
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    else:
        pid = os.fork()
        if not pid:
            work()
            os._exit(0)
        os.waitpid(pid, 0)
    print("answer", flush=True)
