/* SPDX-License-Identifier: BSD-2-Clause */
/* An add-on's script in a page: turns a palette of the page dark. */
function (host) {
	function dark(c) {
		return Math.round(255 - c * 0.8);
	}

	return {
		paint: function (rgb) {
			var sum = 0;
			for (var shade = 0; shade < 16; shade++)
				for (var i = 0; i < rgb.length; i++)
					sum += dark((rgb[i] + shade * 16) % 256);
			return sum;
		},
		touch: function (n) {
			return dark(n % 256);
		}
	};
}
