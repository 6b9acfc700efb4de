/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame of a page: an input field with a history, sorted by use. */
function (host) {
	var uses = {};

	function rank() {
		return Object.keys(uses).sort(function (a, b) {
			return uses[b] - uses[a] || (a < b ? -1 : 1);
		});
	}

	return {
		typed: function (word) {
			uses[word] = (uses[word] || 0) + 1;
			if (host.random(6) === 0 && host.addons()) {
				try {
					host.addon(host.random(host.addons())).handle(
						{ kind: 'typed', text: rank().join(' '), depth: 0 }, rank);
				} catch (e) {
					delete uses[word];
				}
			}
			return rank().length;
		},
		bottom: function (n) {
			return host.dialog() ? n : 0;
		},
		touch: function (n) {
			return rank().length + n;
		}
	};
}
