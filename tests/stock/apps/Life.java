// SPDX-License-Identifier: BSD-2-Clause
// Methods that come and go. "unload" loads three plugins anew in each round, in another
// order, works with them, 6, 3 and 1 parts of the time, and lets go of them; "redefine"
// replaces the class of one by the same one, as an agent; "threads N" works with one while
// N more threads wait. On stdin "work N" does N rounds (threads: N ms of work), "gc N"
// collects; each is answered by a line, with what each plugin has used (thread CPU time, ns).
import java.io.*;
import java.lang.instrument.*;
import java.lang.management.*;
import java.net.*;
import java.nio.file.*;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongUnaryOperator;

public class Life {
	static volatile long sink;
	static Instrumentation instrumentation;

	public static void premain(String arguments, Instrumentation i)
	{
		instrumentation = i;
	}

	static final String[] names = { "heavy", "middle", "light" };
	static final int[] parts = { 180, 90, 30 };
	static long[] used = new long[3];

	static LongUnaryOperator load(Path from, String name) throws Exception
	{
		URL[] urls = { from.toUri().toURL() };
		try (URLClassLoader l = new URLClassLoader(urls, null)) {
			return (LongUnaryOperator)l.loadClass(name + ".Plugin").getConstructor().newInstance();
		}
	}

	// Long enough to be compiled.
	static void use(LongUnaryOperator p, int which, int ms)
	{
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		long begin = threads.getCurrentThreadCpuTime(), now = begin;
		for (; now < begin + ms * 1000000L; now = threads.getCurrentThreadCpuTime())
			sink = p.applyAsLong(300000);
		used[which] += now - begin;
	}

	static long collections()
	{
		long n = 0;
		for (GarbageCollectorMXBean g : ManagementFactory.getGarbageCollectorMXBeans())
			n += g.getCollectionCount();
		return n;
	}

	public static void main(String[] args) throws Exception
	{
		Path from = Paths.get(args[1]);
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		LongUnaryOperator plugin = args[0].equals("unload") ? null : load(from, "heavy");
		long redefined = 0;
		for (int i = 0; args[0].equals("threads") && i < Integer.parseInt(args[2]); i++) {
			Thread t = new Thread(null, LockSupport::park, "waits", 65536);
			t.setDaemon(true);
			t.start();
		}
		System.out.println("ready " + ProcessHandle.current().pid());
		for (String line; (line = in.readLine()) != null;) {
			String[] words = line.split(" ");
			int n = Integer.parseInt(words[1]);
			if (words[0].equals("work") && args[0].equals("threads"))
				use(plugin, 0, n);
			for (int i = 0; words[0].equals("work") && i < n && !args[0].equals("threads"); i++) {
				for (int k = 0; plugin == null && k < 3; k++) {
					int which = (i * 2 + k) % 3;
					use(load(from, names[which]), which, parts[which]);
				}
				if (plugin != null)
					use(plugin, 0, 200);
				if (args[0].equals("redefine")) {
					instrumentation.redefineClasses(new ClassDefinition(plugin.getClass(),
						Files.readAllBytes(from.resolve("heavy/Plugin.class"))));
					redefined++;
				} else {
					System.gc();
				}
			}
			for (int i = 0; words[0].equals("gc") && i < n; i++)
				System.gc();
			System.out.println("answer {\"gc\":" + collections() + ",\"redefined\":" + redefined + ",\"unloaded\":" +
				ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount() + ",\"used\":{\"heavy\":" + used[0] +
				",\"middle\":" + used[1] + ",\"light\":" + used[2] + "}}");
		}
	}
}
