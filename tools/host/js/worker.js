/* SPDX-License-Identifier: BSD-2-Clause */
/* A page's worker: primes below n, and now and then an add-on's opinion of them. */
function (host) {
	function primes(n) {
		var sieve = [], found = [];
		for (var i = 2; i < n; i++) {
			if (sieve[i])
				continue;
			found.push(i);
			for (var k = i * i; k < n; k += i)
				sieve[k] = true;
		}
		return found;
	}

	return {
		work: function (n) {
			var found = primes(n), sum = found.length;
			if (host.addons() && host.random(2) === 0) {
				try {
					sum += host.addon(0).handle(
						{ kind: 'work', text: found.slice(-8).join(' '), depth: 1 },
						function (left) { return found.length + left; });
				} catch (e) {
					sum = -sum;
				}
			}
			if (host.random(4) === 0)
				host.collect('allocation');
			return sum;
		},
		touch: function (n) {
			return n;
		}
	};
}
