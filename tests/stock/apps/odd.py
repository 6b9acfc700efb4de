# SPDX-License-Identifier: BSD-2-Clause
# Odd programs by their first argument:
#   threads N   N threads that wait, and one that works in the plugin `heavy`
#   names       code whose file and function have names that are no text
#   exec CMD... works in `heavy` until a line comes and for 0.5 s of CPU time, then
#               becomes CMD
# Prints "ready PID" when it has begun to work.
import os, select, sys, threading, time

what = sys.argv[1]
stop = False


def ready():
    print("ready", os.getpid(), flush=True)


def work_until(stopped):
    import heavy

    while not stopped():
        heavy.work(1000)


if what == "threads":
    threading.stack_size(65536)
    gate = threading.Lock()
    gate.acquire()
    for _ in range(int(sys.argv[2])):
        threading.Thread(target=gate.acquire, daemon=True).start()
    ready()
    work_until(lambda: False)
elif what == "names":
    code = "def \u65e5\u672c():\n    return sum(range(20000))\n"
    places = ["/x/site-packages/bell\x07\x1b[31mred/a.py", "/x/site-packages/half\udcff\udc80/b.py",
              "/x/site-packages/\U0001f40d\n\u202e/c.py", "/x/site-packages/" + "long" * 5000 + "/d.py"]
    odd = []
    for place in places:
        space = {}
        exec(compile(code, place, "exec"), space)
        odd.append(space["\u65e5\u672c"])
    ready()
    while True:
        for f in odd:
            f()
elif what == "exec":
    ready()
    work_until(lambda: select.select([sys.stdin], [], [], 0)[0])
    end = time.process_time() + 0.5
    work_until(lambda: time.process_time() > end)
    os.execv(sys.argv[2], sys.argv[2:])
