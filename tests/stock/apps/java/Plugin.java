// SPDX-License-Identifier: BSD-2-Clause
// A plugin: its name is put in place of NAME.
package NAME;

public class Plugin implements java.util.function.LongUnaryOperator {
	final int[] table = new int[1024];

	long inner(int n)
	{
		long x = 0;
		for (int i = 0; i < n; i++) {
			x += table[(int)(x ^ i) & 1023] * 31L + i;
			table[i & 1023] = (int)x;
		}
		return x;
	}

	// So small that it is inlined.
	public static long part(int[] table, long x, int n)
	{
		// The compiler tells of what it inlines where a loop looks for safepoints.
		for (int i = 0; i < n; i++)
			x = x * 31 + table[(int)x & 1023];
		return x;
	}

	public long applyAsLong(long n)
	{
		long x = 0;
		for (long i = 0; i < n; i += 300)
			x += inner(300);
		return x;
	}
}
