# SPDX-License-Identifier: BSD-2-Clause
def inner(n):
    x = 0
    for i in range(n):
        x += i * i
    return x


def work(n):
    return inner(n)
