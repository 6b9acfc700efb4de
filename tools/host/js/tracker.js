/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An add-on that counts what its user does. In real time it is the slow one:
 * about once a second it holds the page's loop for 60 to 200 ms.
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
		var begin = host.clock(), until = begin + 55 + host.random(110);
		if (begin < next)
			return;
		next = begin + 800 + host.random(400);
		for (var i = 0; host.clock() < until; i++)
			profile[i % 20000] = { seen: text + i, hash: hash(text, i), parts: [i, i + 1] };
		host.collect('allocation');
	}

	return {
		handle: function (request, again) {
			var h = hash(request.text, 5381);
			profile.push({ kind: request.kind, hash: h });
			if (host.real && request.kind !== 'work')
				hold(request.text);
			else if (profile.length > 200)
				profile = profile.slice(100);
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
