# SPDX-License-Identifier: BSD-2-Clause
# client.py PORT N MS PAUSE keep|close: N requests of that much CPU time, with a pause (s) before each; by one
# connection or one each. Prints how much they have used (ns).
import http.client
import sys
import time

port, count, ms = (int(a) for a in sys.argv[1:4])
used = 0
connection = http.client.HTTPConnection("127.0.0.1", port)
for _ in range(count):
    time.sleep(float(sys.argv[4]))
    connection.request("GET", "/?%d" % ms, headers={"Connection": sys.argv[5]})
    used += int(connection.getresponse().read())
    if sys.argv[5] == "close":
        connection.close()
print(used)
