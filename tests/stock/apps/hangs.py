# SPDX-License-Identifier: BSD-2-Clause
# A loop of events: a line of stdin is a turn; with the argument "pool" a thread of a pool does what it says.
# "turn" is short; "work" takes 50 ms of CPU time; "hang FILE" works until the file is there; "wait FIFO" waits until somebody writes into it.
import os, select, sys, time
from concurrent.futures import ThreadPoolExecutor

def hang(file):
    print("hangs", flush=True)
    while not os.access(file, os.F_OK):
        pass

def wait(fifo):
    print("waits", flush=True)
    with open(fifo) as f:
        f.read()

def work():
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        pass

def turn(words):
    if words[0] == "work":
        work()
    elif words[0] == "hang":
        hang(words[1])
    elif words[0] == "wait":
        wait(words[1])
    print("answer", flush=True)

epoll = select.epoll()
epoll.register(0, select.EPOLLIN)
pool = ThreadPoolExecutor(1) if sys.argv[1:] == ["pool"] else None
print("ready", os.getpid(), flush=True)
while True:
    epoll.poll()
    words = os.read(0, 4096).decode().split()
    if not words:
        os._exit(0)
    if pool:
        pool.submit(turn, words)
    else:
        turn(words)
