/* SPDX-License-Identifier: BSD-2-Clause */
/* A page: what its user does goes to add-ons, to its frames and to its worker. */
function (host) {
	var words = ['river', 'basket', 'signal', 'harbour', 'violet', 'engine', 'copper', 'meadow'];
	var cart = [];
	var answers = 0;

	function sentence(n) {
		var out = [];
		for (var i = 0; i < n; i++)
			out.push(words[host.random(words.length)]);
		return out.join(' ');
	}

	function total(items) {
		var sum = 0;
		for (var i = 0; i < items.length; i++)
			sum += items[i].price * items[i].count;
		return sum;
	}

	/* The add-on may call back, and be called again from there. */
	function ask(kind, depth) {
		if (!host.addons())
			return 0;
		var addon = host.addon(host.random(host.addons()));
		try {
			return addon.handle({ kind: kind, text: sentence(2 + host.random(6)), depth: depth },
				function (left) {
					cart.push({ price: 1 + host.random(90), count: 1 + host.random(3) });
					if (cart.length > 40)
						cart = cart.slice(20);
					return left > 0 ? total(cart) + ask(kind, left - 1) : total(cart);
				});
		} catch (e) {
			return -1;
		}
	}

	function several(kind) {
		var n = 1 + host.random(4), sum = 0;
		for (var i = 0; i < n; i++)
			sum += ask(kind, host.random(3));
		return sum;
	}

	return {
		load: function () {
			host.loaded();
			for (var i = 1; i < host.frames(); i++)
				host.frame(i).touch(i);
			return several('load');
		},
		click: function (turn) {
			var sum = several('click');
			if (host.random(5) === 0)
				sum += host.disk(sentence(20)).length;
			if (host.random(4) === 0)
				host.post(1000 + host.random(2000));
			if (host.random(9) === 0)
				host.collect('request');
			if (host.random(3) === 0)
				host.setTimeout(function () { several('timer'); }, host.random(60));
			if (host.random(12) === 0)
				host.open();
			if (host.random(10) === 0)
				sum += ask('deep', 4 + host.random(12));
			return sum;
		},
		key: function (turn) {
			var sum = ask('key', host.random(2));
			if (host.frames() > 1)
				sum += host.frame(1 + host.random(host.frames() - 1)).typed(sentence(1));
			return sum;
		},
		paint: function (turn) {
			var content = host.content();
			if (content && host.random(3) === 0)
				content.paint([host.random(256), host.random(256), host.random(256)]);
			if (host.random(4) === 0)
				host.frame(host.random(host.frames())).touch(turn);
			return total(cart);
		},
		message: function (answer) {
			answers += answer;
			return ask('message', 0);
		},
		confirm: function (level) {
			var n = ask('confirm', 1);
			var yes = host.dialog('Buy ' + cart.length + ' things?');
			if (yes)
				n += several('confirmed');
			return n;
		},
		bottom: function (n) {
			return host.dialog() ? n : 0;
		},
		touch: function (n) {
			return total(cart) + n;
		}
	};
}
