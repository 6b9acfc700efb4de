# SPDX-License-Identifier: BSD-2-Clause
# "work N" calls two methods of Ruby's that are written in C, N times each; "run N" goes
# on with that until the next command, such as "end 0", which does nothing else. Answers with
# the calls, the CPU time, and the collections.
require "json"
$stdout.sync = true

def round_of(s)
  s.swapcase
  s.squeeze
end

puts "ready #{$$}"
def rounds(n)
  i = 0
  while i < n
    round_of("aAbb")
    i += 1
  end
  n
end

def cpu
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
end

while line = $stdin.gets
  word, n = line.split
  next if word == "end"
  begun = cpu
  collected = GC.count
  done = word == "work" ? rounds(n.to_i) : 0
  done += rounds(1000) until word != "run" || IO.select([$stdin], nil, nil, 0)
  puts "answer " + JSON.generate({ calls: { "String::swapcase" => done, "String::squeeze" => done },
                                   ns: cpu - begun, gc: GC.count - collected })
end
