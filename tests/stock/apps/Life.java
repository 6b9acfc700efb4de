// SPDX-License-Identifier: BSD-2-Clause
// Methods that come and go. "unload" loads a plugin anew in each round, works with it and
// lets go of it; "redefine" replaces its class by the same one, as an agent; "threads N"
// works with one while N more threads wait. On stdin "work N" does N rounds (threads:
// N ms of work), "gc N" collects; each is answered by a line.
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

	static LongUnaryOperator load(Path from) throws Exception
	{
		URL[] urls = { from.toUri().toURL() };
		try (URLClassLoader l = new URLClassLoader(urls, null)) {
			return (LongUnaryOperator)l.loadClass("heavy.Plugin").getConstructor().newInstance();
		}
	}

	// Long enough to be compiled.
	static void use(LongUnaryOperator p, int ms)
	{
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		long end = threads.getCurrentThreadCpuTime() + ms * 1000000L;
		while (threads.getCurrentThreadCpuTime() < end)
			sink = p.applyAsLong(300000);
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
		LongUnaryOperator plugin = args[0].equals("unload") ? null : load(from);
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
				use(plugin, n);
			for (int i = 0; words[0].equals("work") && i < n && !args[0].equals("threads"); i++) {
				use(plugin == null ? load(from) : plugin, 200);
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
				ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount() + "}");
		}
	}
}
