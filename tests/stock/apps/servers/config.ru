# SPDX-License-Identifier: BSD-2-Clause
# For Puma: a request takes as much CPU time as it says (ms, its query) and answers how much it was (ns).
run(lambda do |env|
  used = -> { Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) }
  begin_ns = used.call
  nil while used.call - begin_ns < env["QUERY_STRING"].to_i * 1_000_000
  [200, { "content-type" => "text/plain" }, [(used.call - begin_ns).to_s]]
end)
