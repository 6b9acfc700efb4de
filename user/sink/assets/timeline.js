/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timeline. What is drawn depends on the zoom: buckets that the exporter
 * has merged, at the level whose buckets are about a pixel wide, then single
 * events, and inside those that are wide enough their spans.
 */

const T = {
	from: 0, to: 1, end: 1, /* ns: what is shown, and all there is */
	follow: true, /* everything is shown, and stays so when data comes */
	lanes: [], /* by lane: {y, height, rows, events, ends, levels} */
	order: [], /* events by begin, as indexes */
	hits: null, /* Uint8Array by event, null: no search */
	hitList: [], hitNames: null,
	selected: -1, cursor: -1,
	width: 0, height: 0, gutter: 150, pending: false,
};
const AXIS = 24, STRIP = 26, ROW = 13, ROWS_MAX = 7, GAP = 12, WIDE = 4;

/* ---- Data ---- */

function unpackLevel(flat, width) {
	const n = flat.length / B.size;
	const level = { width, begin: new Float64Array(n), run: new Uint32Array(n), group: new Uint32Array(n),
		busy: new Float64Array(n), max: new Float64Array(n), count: new Uint32Array(n) };
	let at = 0;
	for (let i = 0; i < n; i++) {
		const f = i * B.size;
		at += flat[f + B.skip];
		level.begin[i] = at;
		level.run[i] = flat[f + B.run];
		level.group[i] = flat[f + B.group];
		level.busy[i] = flat[f + B.busy];
		level.max[i] = flat[f + B.max];
		level.count[i] = flat[f + B.count];
	}
	return level;
}

function loadTimeline() {
	const keep = T.follow ? null : [T.from, T.to];
	T.end = Math.max(1000, data.report.source.duration_ns);
	T.lanes = data.lanes.map((lane) => ({ lane, events: [], ends: [], depth: 0,
		levels: lane.levels.map((f, i) => unpackLevel(f, data.bucket_ns * data.level_factor ** i)) }));
	data.events.forEach((e, i) => {
		const lane = T.lanes[e[E.lane]], tree = e[E.tree];
		T.end = Math.max(T.end, e[E.begin] + e[E.ns]);
		lane.events.push(i);
		lane.ends.push(Math.max(lane.ends.at(-1) || 0, e[E.begin] + e[E.ns]));
		for (let k = 0; tree && k < tree.length; k += N.size)
			lane.depth = Math.max(lane.depth, tree[k] + 1);
	});
	T.from = keep ? keep[0] : 0;
	T.to = keep ? keep[1] : T.end;
	layoutLanes();
	searchEvents();
	noteOmitted();
}

function layoutLanes() {
	let y = AXIS;
	const box = $("lanes");
	T.width = box.clientWidth;
	T.gutter = T.width < 600 ? 0 : 150;
	for (const l of T.lanes) {
		l.title = T.gutter ? 0 : 16;
		l.rows = Math.min(ROWS_MAX, l.depth);
		l.y = y;
		l.height = l.title + STRIP + l.rows * ROW + GAP;
		y += l.height;
	}
	T.total = Math.max(y + 4, 90);
	T.height = Math.min(T.total, 510);
	const canvas = $("lanes-canvas"), ratio = window.devicePixelRatio || 1;
	canvas.width = Math.round(T.width * ratio);
	canvas.height = Math.round(T.height * ratio);
	canvas.style.width = T.width + "px";
	canvas.style.height = T.height + "px";
	/* The canvas sticks while the box scrolls over the height of all lanes. */
	canvas.style.marginBottom = T.total - T.height + "px";
	drawSoon();
}

function noteOmitted() {
	const o = data.omitted, said = [];
	if (o.events)
		said.push(`${count(o.events)} of ${count(data.events.length + o.events)} turns, none longer than ${ns(o.events_up_to_ns)}, are shown in buckets only`);
	if (o.trees)
		said.push(`call trees are kept for turns longer than ${ns(o.trees_up_to_ns)}`);
	if (data.other_threads)
		said.push("the last lane holds several threads");
	if (o.threads)
		said.push(`${count(o.threads)} records of threads beyond the limit are not in it`);
	$("lanes-note").textContent = (T.lanes.length ? "Wheel with Ctrl, or + and -, zooms; drag or arrow keys move; click a turn for its calls. " : "") +
		(sampled() ? "Stacks were sampled: which group ran in a short turn is known of many of them, not of one. " : "") +
		(said.length ? "To keep the page small, " + said.join("; ") + "." : "");
}

/* ---- Search ---- */

function searchEvents() {
	const word = $("search").value.trim().toLowerCase();
	T.hitList = [];
	T.cursor = -1;
	if (!word) {
		T.hits = T.hitNames = null;
		$("matches").textContent = "";
	} else {
		const names = data.names.map((s) => s.toLowerCase().includes(word));
		T.hitNames = names;
		T.hits = new Uint8Array(data.events.length);
		data.events.forEach((e, i) => {
			const tree = e[E.tree];
			let hit = names[e[E.label]] || names[e[E.group]];
			for (let k = 0; !hit && tree && k < tree.length; k += N.size)
				hit = names[tree[k + N.name]] || names[tree[k + N.group]];
			if (hit) {
				T.hits[i] = 1;
				T.hitList.push(i);
			}
		});
		$("matches").textContent = `${plural(T.hitList.length, "turn")} of ${count(data.events.length)} match${T.hitList.length === 1 ? "es" : ""}`;
	}
	drawSoon();
}

/* Moves to the next (1) or previous (-1) match; without a search, event. */
function gotoMatch(step) {
	const list = T.hits ? T.hitList : data.events.map((_, i) => i);
	if (!list.length)
		return;
	let at = list.indexOf(T.cursor);
	at = at < 0 ? (step > 0 ? 0 : list.length - 1) : (at + step + list.length) % list.length;
	T.cursor = list[at];
	const e = data.events[T.cursor], lane = T.lanes[e[E.lane]];
	const span = Math.max(e[E.ns] * 6, Math.min(T.to - T.from, e[E.ns] * 60));
	const middle = e[E.begin] + e[E.ns] / 2;
	setView(middle - span / 2, middle + span / 2);
	if (lane.y < $("lanes").scrollTop + AXIS || lane.y + lane.height > $("lanes").scrollTop + T.height)
		$("lanes").scrollTop = lane.y - AXIS;
	showEvent(T.cursor);
}

/* ---- View ---- */

function setView(from, to) {
	const least = 200, span = Math.min(Math.max(to - from, least), T.end * 1.04);
	const middle = (from + to) / 2;
	T.from = Math.max(-T.end * 0.02, Math.min(middle - span / 2, T.end * 1.02 - span));
	T.to = T.from + span;
	T.follow = false;
	drawSoon();
}

function zoom(factor, x) {
	const at = x === undefined ? (T.from + T.to) / 2 : timeAt(x);
	setView(at - (at - T.from) * factor, at + (T.to - at) * factor);
}

const pan = (share) => setView(T.from + (T.to - T.from) * share, T.to + (T.to - T.from) * share);

function fit() {
	setView(0, T.end);
	T.follow = true;
}

const timeAt = (x) => T.from + (x - T.gutter) / (T.width - T.gutter) * (T.to - T.from);
const xAt = (time) => T.gutter + (time - T.from) / (T.to - T.from) * (T.width - T.gutter);

/* The first of a lane's events that may end at or after `time`. */
function firstEvent(lane, time) {
	let low = 0, high = lane.ends.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (lane.ends[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- Drawing ---- */

function drawSoon() {
	if (T.pending)
		return;
	T.pending = true;
	requestAnimationFrame(() => {
		T.pending = false;
		drawTimeline();
	});
}

function drawAxis(c) {
	const px = T.width - T.gutter, span = T.to - T.from;
	let step = 10 ** Math.ceil(Math.log10(span / px * 70));
	for (const part of [5, 2])
		if (step / part * px / span >= 70) {
			step /= part;
			break;
		}
	c.fillStyle = css("--card");
	c.fillRect(0, 0, T.width, AXIS);
	c.fillStyle = css("--soft");
	c.strokeStyle = css("--line");
	c.beginPath();
	for (let t = Math.ceil(T.from / step) * step; t <= T.to; t += step) {
		const x = Math.round(xAt(t)) + 0.5;
		c.moveTo(x, AXIS - 6);
		c.lineTo(x, T.height);
		const text = t ? ns(Math.abs(t)) : "0";
		if (x + 3 + c.measureText(text).width < T.width)
			c.fillText(text, x + 3, 14);
	}
	c.stroke();
}

function jankLine(c, max, x, y, w) {
	if (max >= 16e6) {
		c.fillStyle = css(max >= 64e6 ? "--poor" : "--average");
		c.fillRect(x, y - 3, Math.max(w, 1.5), 2.5);
	}
}

function drawBuckets(c, lane, y) {
	const perPixel = (T.to - T.from) / (T.width - T.gutter);
	let level = lane.levels[0];
	for (const l of lane.levels)
		if (l.width <= perPixel * 2)
			level = l;
	if (!level || level.width > perPixel * 3)
		return false;
	for (let i = 0; i < level.begin.length; i++) {
		const begin = level.begin[i] * level.width;
		if (begin + level.run[i] * level.width < T.from)
			continue;
		if (begin > T.to)
			break;
		const x = Math.max(T.gutter, xAt(begin)), w = xAt(begin + level.run[i] * level.width) - x;
		const h = Math.max(3, Math.min(1, level.busy[i] / level.width) * STRIP);
		c.globalAlpha = T.hits && !T.hitNames[level.group[i]] ? 0.25 : 1;
		c.fillStyle = color(nameOf(level.group[i]));
		c.fillRect(x, y + STRIP - h, Math.max(w, 1), h);
		jankLine(c, level.max[i], x, y, w);
	}
	c.globalAlpha = 1;
	return true;
}

function drawTree(c, e, y, rows) {
	const tree = e[E.tree];
	for (let k = 0; k < tree.length; k += N.size) {
		if (tree[k] >= rows)
			continue;
		const begin = e[E.begin] + tree[k + N.begin];
		const x = Math.max(T.gutter, xAt(begin)), w = Math.min(T.width, xAt(begin + tree[k + N.ns])) - x;
		if (w < 0.4)
			continue;
		const dim = T.hitNames && !T.hitNames[tree[k + N.name]] && !T.hitNames[tree[k + N.group]];
		c.globalAlpha = dim ? 0.25 : (tree[k + N.fate] & 127) ? 0.5 : 0.88;
		c.fillStyle = color(nameOf(tree[k + N.group]));
		c.fillRect(x, y + tree[k] * ROW, Math.max(w - 0.5, 0.6), ROW - 1);
		if (w > 44) {
			c.globalAlpha = 1;
			label(c, clean(nameOf(tree[k + N.name])), x, y + tree[k] * ROW + 9.5, w, dim);
		}
	}
	c.globalAlpha = 1;
}

function label(c, text, x, y, w, dim) {
	const room = Math.floor((w - 6) / 6.2);
	c.fillStyle = dim ? css("--soft") : isDark() ? "#0c0e10" : "#fff";
	c.fillText(text.length > room ? text.slice(0, Math.max(1, room - 1)) + "\u2026" : text, x + 3, y);
}

function drawEvents(c, lane, y, bucketed) {
	const least = bucketed ? WIDE : 0;
	let last = -1;
	for (let k = firstEvent(lane, T.from); k < lane.events.length; k++) {
		const i = lane.events[k], e = data.events[i];
		if (e[E.begin] > T.to)
			break;
		const x = Math.max(T.gutter, xAt(e[E.begin])), end = Math.min(T.width, xAt(e[E.begin] + e[E.ns])), w = end - x;
		const wanted = i === T.selected || i === T.cursor || (T.hits && T.hits[i]);
		if (w < least && !wanted || x > T.width || end < T.gutter)
			continue;
		if (w < 0.5 && !wanted && Math.floor(x) === last)
			continue;
		last = Math.floor(x);
		const inset = e[E.parent] ? 7 : 0;
		if (!bucketed || w >= least) {
			c.globalAlpha = T.hits && !T.hits[i] ? 0.25 : 1;
			c.fillStyle = color(nameOf(e[E.group]));
			c.fillRect(x, y + inset, Math.max(w - (w > 3 ? 1 : 0), 1), STRIP - inset);
			c.globalAlpha = 1;
			jankLine(c, e[E.ns], x, y, w);
			if (w > 50 && !e[E.parent])
				label(c, clean(nameOf(e[E.label]) || nameOf(e[E.group])) + "  " + ns(e[E.ns]), x, y + 17, w, T.hits && !T.hits[i]);
			if (e[E.tree] && w >= WIDE)
				drawTree(c, e, y + STRIP + 1, lane.rows);
		}
		if (T.hits && T.hits[i] && w < 8) {
			c.fillStyle = css("--accent");
			c.fillRect(x - 0.5, y + STRIP, Math.max(2, w), 3);
		}
		if (i === T.selected) {
			c.strokeStyle = css("--ink");
			c.lineWidth = 2;
			c.strokeRect(x - 1, y - 1, Math.max(w, 3) + 1, STRIP + Math.min(lane.rows, depthOf(e)) * ROW + 2);
			c.lineWidth = 1;
		}
	}
}

function depthOf(e) {
	let depth = 0;
	for (let k = 0; e[E.tree] && k < e[E.tree].length; k += N.size)
		depth = Math.max(depth, e[E.tree][k] + 1);
	return depth;
}

function laneTitle(lane) {
	const l = lane.lane, name = clean(nameOf(l.name) || (l.tid === l.pid ? "main thread" : "thread"));
	return l.pid ? [name + (l.tid === l.pid ? "" : " " + l.tid), `${clean(nameOf(l.process) || "process")} ${l.pid}`] : ["other threads", ""];
}

function drawTitle(c, lane, y) {
	const [name, process] = laneTitle(lane);
	c.fillStyle = css("--ink");
	if (!T.gutter) {
		c.fillText(`${name} \u00b7 ${process}`, 4, y + 12, T.width - 8);
		return;
	}
	c.fillText(name, 8, y + 12, T.gutter - 14);
	c.fillStyle = css("--soft");
	c.fillText(process, 8, y + 26, T.gutter - 14);
}

function drawTimeline() {
	const canvas = $("lanes-canvas"), c = canvas.getContext("2d"), ratio = canvas.width / T.width || 1;
	const top = $("lanes").scrollTop;
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	c.clearRect(0, 0, T.width, T.height);
	c.font = "11px system-ui, sans-serif";
	if (!T.lanes.length) {
		c.fillStyle = css("--soft");
		c.fillText("No turn of an event loop was recorded.", 12, 44);
		return;
	}
	drawAxis(c);
	for (const lane of T.lanes) {
		const y = lane.y - top;
		if (y + lane.height < AXIS || y > T.height)
			continue;
		c.save();
		c.beginPath();
		c.rect(0, Math.max(AXIS, y), T.width, lane.height);
		c.clip();
		c.save();
		c.beginPath();
		c.rect(T.gutter, 0, T.width, T.height);
		c.clip();
		drawEvents(c, lane, y + 4 + lane.title, drawBuckets(c, lane, y + 4 + lane.title));
		c.restore();
		drawTitle(c, lane, y + (lane.title ? 0 : 4));
		c.restore();
	}
	canvas.dataset.from = Math.round(T.from);
	canvas.dataset.to = Math.round(T.to);
}

/* ---- Mouse, fingers, keys ---- */

/* What is under a point: {lane, event, node} or null. */
function at(x, y) {
	const lane = T.lanes.find((l) => y + $("lanes").scrollTop >= l.y && y + $("lanes").scrollTop < l.y + l.height);
	if (!lane || x < T.gutter || y < AXIS)
		return null;
	const slack = (T.to - T.from) / (T.width - T.gutter) * 2, time = timeAt(x);
	let event = -1;
	for (let k = firstEvent(lane, time - slack); k < lane.events.length; k++) {
		const i = lane.events[k], e = data.events[i];
		if (e[E.begin] > time + slack)
			break;
		/* The shortest that is there: nested ones lie on top. Below 1 px the longest counts. */
		if (e[E.begin] + e[E.ns] >= time - slack && (event < 0 || (e[E.ns] > slack
			? e[E.ns] < data.events[event][E.ns] || data.events[event][E.ns] <= slack
			: data.events[event][E.ns] < e[E.ns])))
			event = i;
	}
	const row = Math.floor((y + $("lanes").scrollTop - lane.y - lane.title - 4 - STRIP) / ROW);
	return { lane, event, node: event >= 0 && row >= 0 ? nodeAt(data.events[event], time, row) : -1, time };
}

function nodeAt(e, time, row) {
	const tree = e[E.tree] || [];
	for (let k = 0; k < tree.length; k += N.size) {
		const begin = e[E.begin] + tree[k + N.begin];
		if (tree[k] === row && begin <= time && time <= begin + tree[k + N.ns])
			return k;
	}
	return -1;
}

function bucketAt(lane, time) {
	const l = lane.levels[0];
	for (let i = 0; l && i < l.begin.length; i++)
		if (time >= l.begin[i] * l.width && time < (l.begin[i] + l.run[i]) * l.width)
			return i;
	return -1;
}

function tip(found, x, y) {
	const box = $("tip"), lines = [];
	if (found && found.event >= 0) {
		const e = data.events[found.event];
		if (found.node >= 0) {
			const t = e[E.tree], k = found.node;
			lines.push(clean(nameOf(t[k + N.name]) || nameOf(t[k + N.group])), clean(nameOf(t[k + N.group])),
				`${ns(t[k + N.ns])}, itself ${ns(t[k + N.self])}`);
		} else {
			lines.push(`${clean(nameOf(e[E.label]) || "turn")} ${e[E.iteration] || ""}`, `${ns(e[E.ns])}, mostly ${clean(nameOf(e[E.group]))}`);
		}
	} else if (found) {
		const i = bucketAt(found.lane, found.time), l = found.lane.levels[0];
		if (i >= 0)
			lines.push(clean(nameOf(l.group[i])), `longest turn here ${ns(l.max[i])}`);
	}
	box.hidden = !lines.length;
	fill(box, ...lines.map((s) => el("div", {}, s)));
	box.style.left = Math.min(x + 14, innerWidth - 240) + "px";
	box.style.top = y + 16 + "px";
}

const KEYS = {
	ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6),
	0: fit, Home: fit, n: () => gotoMatch(1), p: () => gotoMatch(-1),
	ArrowDown: () => $("lanes").scrollBy(0, 40), ArrowUp: () => $("lanes").scrollBy(0, -40),
	Enter: () => { if (T.cursor >= 0) { showEvent(T.cursor); $("detail").focus(); } },
	Escape: () => showEvent(-1),
};

function startPointer(canvas) {
	const down = new Map();
	let moved = 0, apart = 0;
	const where = (ev) => {
		const r = canvas.getBoundingClientRect();
		return [ev.clientX - r.left, ev.clientY - r.top];
	};
	canvas.addEventListener("pointerdown", (ev) => {
		down.set(ev.pointerId, where(ev));
		canvas.setPointerCapture(ev.pointerId);
		moved = apart = 0;
	});
	canvas.addEventListener("pointermove", (ev) => {
		const [x, y] = where(ev), old = down.get(ev.pointerId);
		if (!old) {
			tip(at(x, y), ev.clientX, ev.clientY);
			return;
		}
		$("tip").hidden = true;
		down.set(ev.pointerId, [x, y]);
		moved += Math.abs(x - old[0]) + Math.abs(y - old[1]);
		if (down.size === 2) {
			const [a, b] = [...down.values()], now = Math.abs(a[0] - b[0]);
			if (apart && now > 8)
				zoom(apart / now, (a[0] + b[0]) / 2);
			apart = now;
		} else if (moved > 4) {
			pan((old[0] - x) / (T.width - T.gutter));
		}
	});
	canvas.addEventListener("pointerup", (ev) => {
		const found = moved <= 4 && down.size === 1 ? at(...where(ev)) : null;
		down.delete(ev.pointerId);
		if (found && found.event >= 0) {
			T.cursor = found.event;
			showEvent(found.event);
		}
	});
	canvas.addEventListener("pointercancel", (ev) => down.delete(ev.pointerId));
	canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });
	canvas.addEventListener("dblclick", (ev) => zoom(0.4, where(ev)[0]));
	canvas.addEventListener("wheel", (ev) => {
		if (ev.ctrlKey || ev.metaKey)
			zoom(ev.deltaY > 0 ? 1.25 : 0.8, where(ev)[0]);
		else if (Math.abs(ev.deltaX) > Math.abs(ev.deltaY))
			pan(ev.deltaX / T.width);
		else
			return;
		ev.preventDefault();
	}, { passive: false });
}

function startTimeline() {
	const canvas = $("lanes-canvas");
	startPointer(canvas);
	canvas.addEventListener("keydown", (ev) => {
		if (KEYS[ev.key] && !ev.ctrlKey && !ev.metaKey && !ev.altKey) {
			KEYS[ev.key]();
			ev.preventDefault();
		}
	});
	$("lanes").addEventListener("scroll", drawSoon);
	$("search").addEventListener("input", searchEvents);
	$("search").addEventListener("keydown", (ev) => {
		if (ev.key === "Enter")
			gotoMatch(ev.shiftKey ? -1 : 1);
	});
	for (const [id, what] of [["zoom-in", "+"], ["zoom-out", "-"], ["zoom-fit", "0"], ["match-next", "n"], ["match-prev", "p"]])
		$(id).addEventListener("click", KEYS[what]);
}
