# SPDX-License-Identifier: BSD-2-Clause
# For gunicorn: a request takes as much CPU time as it says (ms, its query) and answers how much it was (ns).
import time


def app(environ, start_response):
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < int(environ["QUERY_STRING"]) * 1000000:
        pass
    body = str(time.thread_time_ns() - begin).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
