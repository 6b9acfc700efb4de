# SPDX-License-Identifier: BSD-2-Clause
# A loop of events: a line of stdin is a turn. "turn" is short; "hang FILE" works until the file is there.
import os, select, sys

epoll = select.epoll()
epoll.register(0, select.EPOLLIN)
print("ready", os.getpid(), flush=True)
while True:
    epoll.poll()
    words = os.read(0, 4096).decode().split()
    if not words:
        sys.exit(0)
    if words[0] == "hang":
        print("hangs", flush=True)
        while not os.path.exists(words[1]):
            pass
    print("answer", flush=True)
