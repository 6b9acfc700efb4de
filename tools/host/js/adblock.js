/* SPDX-License-Identifier: BSD-2-Clause */
/* An add-on that matches what pages ask for against filters. */
function (host) {
	var filters = ['*bas*', 'vio*', '*ou*r', '*ne', 'sig*al', '*ow'];

	/* A filter's * stands for anything. */
	function matches(filter, f, text, t) {
		for (; f < filter.length; f++, t++) {
			if (filter[f] === '*') {
				for (var k = t; k <= text.length; k++)
					if (matches(filter, f + 1, text, k))
						return true;
				return false;
			}
			if (filter[f] !== text[t])
				return false;
		}
		return t === text.length;
	}

	function blocked(word) {
		return filters.some(function (f) { return matches(f, 0, word, 0); });
	}

	return {
		handle: function (request, again) {
			var bad = request.text.split(' ').filter(blocked);
			if (bad.length > 1 && request.depth > 0)
				return bad.length + again(request.depth - 1);
			return bad.length;
		},
		bottom: function (n) {
			return host.dialog() ? n : 0;
		},
		touch: function (n) {
			return blocked('word' + n) ? 1 : 0;
		}
	};
}
