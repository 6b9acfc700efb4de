/* SPDX-License-Identifier: BSD-2-Clause */
/* An add-on that translates, and asks other add-ons about what it wrote. */
function (host) {
	var dictionary = {
		river: 'Fluss', basket: 'Korb', signal: 'Signal', harbour: 'Hafen',
		violet: 'Veilchen', engine: 'Motor', copper: 'Kupfer', meadow: 'Wiese'
	};

	function translate(text) {
		return text.split(' ').map(function (w) { return dictionary[w] || w; }).join(' ');
	}

	return {
		handle: function (request, again) {
			var text = translate(request.text), sum = text.length;
			if (host.random(3) === 0) {
				try {
					sum += host.addon(host.random(host.addons())).handle(
						{ kind: 'translated', text: text, depth: request.depth },
						again);
				} catch (e) {
					sum -= 1;
				}
			} else if (request.depth > 0) {
				sum += again(request.depth - 1);
			}
			return sum;
		},
		bottom: function (n) {
			return host.dialog() ? n : 0;
		},
		touch: function (n) {
			return translate('river ' + n).length;
		}
	};
}
