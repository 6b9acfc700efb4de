/* SPDX-License-Identifier: BSD-2-Clause */
/* An add-on that finds dark colours with enough contrast. */
function (host) {
	function luminance(r, g, b) {
		function part(c) {
			c /= 255;
			return c <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
		}
		return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
	}

	function contrast(text) {
		var c = text.charCodeAt(0), best = 0;
		for (var shade = 0; shade < 64; shade += 8) {
			var a = luminance(c, 255 - c, shade), b = luminance(shade, shade, shade);
			best = Math.max(best, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
		}
		return best;
	}

	return {
		handle: function (request, again) {
			var worst = 21;
			request.text.split(' ').forEach(function (w) {
				worst = Math.min(worst, contrast(w));
			});
			if (request.depth > 1)
				again(request.depth - 2);
			return Math.floor(worst);
		},
		bottom: function (n) {
			return host.dialog() ? n : 0;
		},
		touch: function (n) {
			return Math.floor(contrast('x' + n));
		}
	};
}
