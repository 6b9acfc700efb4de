/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An add-on that counts what its user does. In real time it is the slow one:
 * about once a second it holds the page's loop for 60 to 200 ms of work, longer
 * where others want the CPU too.
 */
function (host) {
	var profile = [];
	var next = 0;

	function hash(text, seed) {
		var h = seed;
		for (var i = 0; i < text.length; i++)
			h = (h * 33 + text.charCodeAt(i)) % 4294967291;
		return h;
	}

	function hold(text) {
		var until = host.worked() + 62 + host.random(110);
		if (host.clock() < next)
			return;
		next = host.clock() + 800 + host.random(400);
		var report = [];
		for (var i = 0; host.worked() < until; i++) {
			report[i] = { at: i, parts: [i, { hash: i % 64 ? i : hash(text, i) }] };
			if (i % 20000 === 19999)
				host.collect('allocation'); /* while all of the report is alive */
		}
		host.collect('allocation');
	}

	return {
		handle: function (request, again) {
			var h = hash(request.text, 5381);
			profile.push({ kind: request.kind, hash: h });
			if (profile.length > 200)
				profile = profile.slice(100);
			if (host.real && request.kind !== 'work')
				hold(request.text);
			if (request.depth > 0)
				h += again(request.depth - 1);
			return h % 1000;
		},
		bottom: function (n) {
			return host.dialog() ? n : 0;
		},
		touch: function (n) {
			return hash('touch', n) % 1000;
		}
	};
}
