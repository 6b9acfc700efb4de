/* SPDX-License-Identifier: BSD-2-Clause */
/* What every tenant runs: a checksum of its number. */
function (host) {
	return {
		touch: function (n) {
			var sum = n;
			for (var i = 0; i < 8; i++)
				sum = (sum * 31 + 7) % 65521;
			return sum;
		}
	};
}
