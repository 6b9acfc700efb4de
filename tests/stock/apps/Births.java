// SPDX-License-Identifier: BSD-2-Clause
// As births.py, threads only, which run code that is not Java: they compress.
import java.io.*;
import java.lang.management.*;
import java.nio.file.*;
import java.util.zip.Deflater;

public class Births {
	static void work()
	{
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		byte[] from = new byte[1 << 16], to = new byte[1 << 17];
		for (int i = 0, x = 1; i < from.length; i++)
			from[i] = (byte)((x = x * 1103515245 + 12345) >> 20 & 15);
		long began = System.nanoTime();
		try {
			String tid = Files.readSymbolicLink(Paths.get("/proc/thread-self")).getFileName().toString();
			System.out.println("began " + tid + " " + began);
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
		for (long end = threads.getCurrentThreadCpuTime() + 60000000L; threads.getCurrentThreadCpuTime() < end;) {
			Deflater d = new Deflater(9);
			d.setInput(from);
			d.finish();
			d.deflate(to);
			d.end();
		}
	}

	public static void main(String[] args) throws Exception
	{
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		System.out.println("ready " + ProcessHandle.current().pid());
		while (in.readLine() != null) {
			Thread t = new Thread(Births::work);
			t.start();
			t.join();
			System.out.println("answer");
		}
	}
}
