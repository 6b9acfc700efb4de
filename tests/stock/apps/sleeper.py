# SPDX-License-Identifier: BSD-2-Clause
# A package that waits where it should work.
import time


def nap():
    time.sleep(0.05)
