# SPDX-License-Identifier: BSD-2-Clause
# A plugin of planter.py.
import gc, time


def work(n):
    x = 0
    for i in range(n):
        x += i * i
    return x


def burns(ms, other=None):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end:
        work(1000)


def sleeps(ms, other):
    time.sleep(ms / 1000)


def calls(ms, other):
    other.burns(ms)


def collects(ms, other):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end:
        gc.collect()
