# SPDX-License-Identifier: BSD-2-Clause
# A server's pool of threads, as Puma's: each looks once whether more has come of its request, without waiting for it,
# works, and then waits for the next one in the queue. Commands on stdin, each answered by a line:
#   jobs N MS    N requests of that much CPU time each, one after the other
#   polled N MS  the same, after a wait of 1 ms each in ppoll()
#   naps N       N naps of 1 ms in a thread with such a loop, while another one works
require "io/wait"
require "json"

NOTHING, = IO.pipe
GAP = 0.05 # so that whoever has worked waits for work again

def used
  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
end

def works(ms, wait)
  before = used
  NOTHING.wait_readable(wait)
  nil while used - before < ms * 1_000_000
  used - before
end

def waits_for_work(jobs)
  jobs.pop
end

def naps
  sleep 0.001
end

def worker(jobs, done)
  while (job = waits_for_work(jobs))
    done << works(*job)
  end
end

jobs = Queue.new
done = Queue.new
to_nap = Queue.new
# Of all that sleep one does so in ppoll(), for the signals of all: it is this one.
Thread.new { sleep }
Thread.pass
2.times { Thread.new { worker(jobs, done) } }
napper = Thread.new do
  while (count = to_nap.pop)
    count.times do
      NOTHING.wait_readable(0.001)
      naps
    end
    done << count
  end
end
napper.name = "napper"
puts "ready #{$$}"
$stdout.flush
while (words = $stdin.gets&.split)
  count = words[1].to_i
  if words[0] == "naps"
    to_nap << count
    works(1, 0) while done.empty?
    answer = { naps: done.pop }
  else
    sum = Array.new(count) do
      sleep GAP
      jobs << [words[2].to_i, words[0] == "polled" ? 0.001 : 0]
      done.pop
    end.sum
    answer = { used: sum }
  end
  puts "answer #{JSON.generate(answer)}"
  $stdout.flush
end
