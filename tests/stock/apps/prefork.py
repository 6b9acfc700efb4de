# SPDX-License-Identifier: BSD-2-Clause
# A server that forks its workers while it is traced. Each line on stdin is the CPU
# time, in ms, that a new worker spends in the plugin `worker`; it is answered when
# the worker has ended.
import os, sys, time, worker

print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        end = time.process_time() + int(line) / 1000
        while time.process_time() < end:
            worker.work(1000)
        os._exit(0)
    os.waitpid(pid, 0)
    print("answer", pid, flush=True)
