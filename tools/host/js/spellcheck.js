/* SPDX-License-Identifier: BSD-2-Clause */
/* An add-on that looks for the nearest word it knows, and throws when there is none. */
function (host) {
	var known = ['rover', 'casket', 'signals', 'harbor', 'violets', 'engines', 'coppers'];

	function distance(a, b) {
		var row = [], i, k, before, keep;
		for (k = 0; k <= b.length; k++)
			row.push(k);
		for (i = 1; i <= a.length; i++) {
			before = row[0];
			row[0] = i;
			for (k = 1; k <= b.length; k++) {
				keep = row[k];
				row[k] = Math.min(row[k] + 1, row[k - 1] + 1,
					before + (a[i - 1] === b[k - 1] ? 0 : 1));
				before = keep;
			}
		}
		return row[b.length];
	}

	function nearest(word) {
		var best = 9;
		known.forEach(function (k) { best = Math.min(best, distance(word, k)); });
		return best;
	}

	return {
		handle: function (request, again) {
			var errors = 0;
			request.text.split(' ').forEach(function (w) { errors += nearest(w); });
			if (request.depth > 0)
				errors += again(request.depth - 1);
			if (errors % 7 === 0)
				throw new Error('spellcheck: cannot say ' + request.text);
			return errors;
		},
		bottom: function (n) {
			return host.dialog() ? n : 0;
		},
		touch: function (n) {
			return nearest('word' + n);
		}
	};
}
