# SPDX-License-Identifier: BSD-2-Clause
# Collections of some 0.1 s each, in a program without a loop. Commands on stdin, each answered by a line, with times that passed:
#   collect N MS  N times: MS of CPU time in its own code, then a collection
require "json"

def cpu
  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def works(ms)
  from = cpu
  nil while cpu - from < ms * 1_000_000
end

GC.disable
KEPT = Array.new(8_000_000) { [1, 2, 3, 4] }
puts "ready #{Process.pid}"
$stdout.flush
while (line = $stdin.gets)
  _, n, ms = line.split
  gc = 0
  from = now
  n.to_i.times do
    works(ms.to_i)
    before = now
    GC.start
    gc += now - before
  end
  puts "answer #{JSON.generate({ used: now - from, gc: gc, count: n.to_i })}"
  $stdout.flush
end
