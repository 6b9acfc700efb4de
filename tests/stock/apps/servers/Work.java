// SPDX-License-Identifier: BSD-2-Clause
// A request takes as much CPU time as it says (ms, its query); how much it was (ns).
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

final class Work {
	private static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

	static String of(String ms)
	{
		long begin = threads.getCurrentThreadCpuTime(), end = begin + Long.parseLong(ms) * 1000000, now;
		do
			now = threads.getCurrentThreadCpuTime();
		while (now < end);
		return Long.toString(now - begin);
	}
}
