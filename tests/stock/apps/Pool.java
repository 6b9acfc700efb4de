// SPDX-License-Identifier: BSD-2-Clause
// A pool of two threads that works for requests. Commands on stdin, each answered by a line:
//   jobs N MS    N requests of that much CPU time each, one after the other
//   polled N MS  the same, after a wait of 1 ms each in epoll_wait()
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.channels.Selector;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

public class Pool {
	static final long GAP_MS = 50; // so that whoever has worked waits for work again
	static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

	static long works(long ms, Selector s) throws Exception
	{
		long begin = threads.getCurrentThreadCpuTime();
		if (s != null)
			s.select(1);
		while (threads.getCurrentThreadCpuTime() - begin < ms * 1000000)
			;
		return threads.getCurrentThreadCpuTime() - begin;
	}

	public static void main(String[] args) throws Exception
	{
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		ExecutorService pool = Executors.newFixedThreadPool(2);
		Selector selector = Selector.open();
		System.out.println("ready " + ProcessHandle.current().pid());
		for (String line; (line = in.readLine()) != null;) {
			String[] words = line.split(" ");
			Selector s = words[0].equals("polled") ? selector : null;
			long used = 0;
			for (int i = 0; i < Integer.parseInt(words[1]); i++) {
				Thread.sleep(GAP_MS);
				used += pool.submit(() -> works(Long.parseLong(words[2]), s)).get();
			}
			System.out.println("answer {\"used\":" + used + "}");
		}
		pool.shutdown();
	}
}
