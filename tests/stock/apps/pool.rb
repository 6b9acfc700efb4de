# SPDX-License-Identifier: BSD-2-Clause
# A server's pool of threads, as Puma's: each looks once whether more has come of its request, without waiting for it,
# works, and then waits for the next one in the queue.
#   jobs N MS  N requests, one after the other, of that much CPU time each
require "io/wait"
require "json"

clock = -> { Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) }
jobs = Queue.new
done = Queue.new
nothing, = IO.pipe
# Of all that sleep one does so in ppoll(), for the signals of all: it is this one.
Thread.new { sleep }
Thread.pass
2.times do
  Thread.new do
    while (ms = jobs.pop)
      before = clock.call
      nothing.wait_readable(0)
      nil while clock.call - before < ms * 1_000_000
      done << clock.call - before
    end
  end
end
puts "ready #{$$}"
$stdout.flush
while (words = $stdin.gets&.split)
  used = Array.new(words[1].to_i) do
    jobs << words[2].to_i
    done.pop
  end
  puts "answer #{JSON.generate({ used: used.sum })}"
  $stdout.flush
end
