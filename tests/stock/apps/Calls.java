// SPDX-License-Identifier: BSD-2-Clause
// As calls.py, what of it Java has.
import java.io.BufferedReader;
import java.io.InputStreamReader;

public class Calls {
	static int leaf(int n) {
		for (int i = 0, m = n; i < m; i++)
			n ^= i;
		return n;
	}

	static int nested(int n) {
		return leaf(n) + leaf(n);
	}

	static int fails(int n) {
		throw new IllegalStateException();
	}

	static int passes(int n) {
		return fails(n);
	}

	static int deeper(int n) {
		return n == 0 ? 0 : deeper(n - 1);
	}

	static int roundOf(int n) {
		int sum = nested(n) + deeper(5);
		try {
			sum += passes(n);
		} catch (IllegalStateException e) {
			sum++;
		}
		return sum;
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		System.out.println("ready " + ProcessHandle.current().pid());
		for (String line; (line = in.readLine()) != null;) {
			int n = Integer.parseInt(line.split(" ")[1]), sum = 0;
			for (int i = 0; i < n; i++)
				sum += roundOf(3);
			System.out.println("answer {\"calls\": {\"roundOf\": " + n + ", \"nested\": " + n +
				", \"leaf\": " + 2 * n + ", \"deeper\": " + 6 * n + ", \"passes\": " + n +
				", \"fails\": " + n + "}, \"sum\": " + sum + "}");
		}
	}
}
