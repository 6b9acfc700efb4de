// SPDX-License-Identifier: BSD-2-Clause
// A thread works without allocating; commands on stdin as app.py has them.
import java.io.*;
import java.lang.management.*;

public class App {
	static long collections()
	{
		long n = 0;
		for (GarbageCollectorMXBean g : ManagementFactory.getGarbageCollectorMXBeans())
			n += g.getCollectionCount();
		return n;
	}

	static volatile long sink;

	static void work()
	{
		for (long i = 0;; i++)
			sink = sink * 31 + i;
	}

	public static void main(String[] args) throws IOException
	{
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		collections();
		Thread worker = new Thread(App::work);
		worker.setDaemon(true);
		worker.start();
		System.out.println("ready " + ProcessHandle.current().pid());
		System.out.flush();
		for (String line; (line = in.readLine()) != null;) {
			String[] words = line.split(" ");
			if (words[0].equals("gc"))
				for (int i = 0; i < Integer.parseInt(words[1]); i++)
					System.gc();
			System.out.println("answer {\"gc\":" + collections() + "}");
			System.out.flush();
		}
	}
}
