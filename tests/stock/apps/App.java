// SPDX-License-Identifier: BSD-2-Clause
// Works without allocating: with arguments NAME=CLASS, an event loop with plugins that
// use 6, 3 and 1 parts of its time; else one loop. Commands on stdin: "truth" prints what
// each plugin has used (thread CPU time, ns) in how many rounds, "gc N" collects N times, "run S" waits until
// they have used S seconds more (its answer says what each had used "before"); each is
// answered by a line.
import java.io.*;
import java.lang.management.*;
import java.nio.channels.Selector;
import java.util.function.LongUnaryOperator;

public class App {
	static final int[] work = { 300000, 150000, 50000 };
	static volatile long sink;
	static String[] names;
	static long[] used;
	static long[] before;
	static volatile long until;
	static volatile long rounds;

	static long collections()
	{
		long n = 0;
		for (GarbageCollectorMXBean g : ManagementFactory.getGarbageCollectorMXBeans())
			n += g.getCollectionCount();
		return n;
	}

	static void loop()
	{
		for (long i = 0;; i++)
			sink = sink * 31 + i;
	}

	static String json(long[] values)
	{
		StringBuilder s = new StringBuilder("{");
		for (int i = 0; i < names.length; i++)
			s.append(i > 0 ? "," : "").append('"').append(names[i]).append("\":").append(values[i]);
		return s.append("}").toString();
	}

	static synchronized void answer(String more)
	{
		System.out.println("answer {\"gc\":" + collections() + ",\"rounds\":" + rounds + ",\"used\":" + json(used) + more + "}");
		System.out.flush();
	}

	static long sum()
	{
		long n = 0;
		for (long u : used)
			n += u;
		return n;
	}

	static void plugins(LongUnaryOperator[] plugins)
	{
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		try {
			for (Selector s = Selector.open();; s.select(1), rounds++)
				for (int i = 0; i < plugins.length; i++) {
					long begin = threads.getCurrentThreadCpuTime();
					sink = plugins[i].applyAsLong(work[i]);
					used[i] += threads.getCurrentThreadCpuTime() - begin;
					if (until != 0 && sum() >= until) {
						until = 0;
						answer(",\"before\":" + json(before));
					}
				}
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}

	public static void main(String[] args) throws Exception
	{
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		LongUnaryOperator[] plugins = new LongUnaryOperator[args.length];
		names = new String[args.length];
		used = new long[args.length];
		for (int i = 0; i < args.length; i++) {
			String[] words = args[i].split("=");
			names[i] = words[0];
			plugins[i] = (LongUnaryOperator)Class.forName(words[1]).getConstructor().newInstance();
		}
		collections();
		Thread worker = new Thread(args.length > 0 ? () -> plugins(plugins) : App::loop, "worker");
		worker.setDaemon(true);
		worker.start();
		System.out.println("ready " + ProcessHandle.current().pid());
		System.out.flush();
		for (String line; (line = in.readLine()) != null;) {
			String[] words = line.split(" ");
			if (words[0].equals("run")) {
				before = used.clone();
				until = sum() + Long.parseLong(words[1]) * 1000000000L;
				continue;
			}
			if (words[0].equals("gc"))
				for (int i = 0; i < Integer.parseInt(words[1]); i++)
					System.gc();
			answer("");
		}
	}
}
