# SPDX-License-Identifier: BSD-2-Clause
# As app.py, in Ruby: three gems, and commands on stdin.
require "heavy"
require "middle"
require "light"
require "json"

GC.disable
used = Hash.new(0)
clock = -> { Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) }
puts "ready #{$$}"
$stdout.flush
wanted = before = nil
loop do
  { "heavy" => [Heavy, 60000], "middle" => [Middle, 30000], "light" => [Light, 10000] }.each do |name, (mod, n)|
    begin_ns = clock.call
    mod.work(n)
    used[name] += clock.call - begin_ns
  end
  if wanted && used.values.sum >= wanted
    puts "answer #{JSON.generate({ used: used, before: before, gc: GC.count })}"
    $stdout.flush
    wanted = nil
  end
  next unless IO.select([$stdin], nil, nil, 0.001)
  words = $stdin.gets.split
  if words[0] == "run"
    before = used.dup
    wanted = used.values.sum + words[1].to_i * 1_000_000_000
    next
  end
  words[1].to_i.times { GC.start } if words[0] == "gc"
  puts "answer #{JSON.generate({ used: used, gc: GC.count })}"
  $stdout.flush
end
