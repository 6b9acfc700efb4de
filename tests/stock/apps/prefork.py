# SPDX-License-Identifier: BSD-2-Clause
# A server that forks its workers while it is traced. Each line on stdin is the CPU
# time, in ms, that a new worker spends in the plugin `worker`; when the worker has ended
# it is answered; the worker itself says what it used (ns).
import json, os, sys, time, worker

print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        begin = time.monotonic_ns()
        end = int(line) * 1_000_000
        while time.process_time_ns() < end:
            worker.work(1000)
        used = {"pid": os.getpid(), "cpu_ns": time.process_time_ns(), "wall_ns": time.monotonic_ns() - begin}
        os.write(1, f"used {json.dumps(used)}\n".encode())
        os._exit(0)
    os.waitpid(pid, 0)
    print("answer", pid, flush=True)
