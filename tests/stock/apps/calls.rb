# SPDX-License-Identifier: BSD-2-Clause
# "work N" calls two methods of Ruby's that are written in C, N times each.
require "json"
$stdout.sync = true

def round_of(s)
  s.swapcase
  s.squeeze
end

puts "ready #{$$}"
while line = $stdin.gets
  n = line.split[1].to_i
  i = 0
  while i < n
    round_of("aAbb")
    i += 1
  end
  puts "answer " + JSON.generate({ calls: { "String::swapcase" => n, "String::squeeze" => n } })
end
