// SPDX-License-Identifier: BSD-2-Clause
// Another package, into whose method a plugin's is inlined: its name is put in place of NAME.
package host;

public class HostNAME implements java.util.function.LongUnaryOperator {
	final int[] table = new int[1024];

	public long applyAsLong(long n)
	{
		return NAME.Plugin.part(table, 7, (int)n);
	}
}
