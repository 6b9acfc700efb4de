/* SPDX-License-Identifier: BSD-2-Clause */
/* What all panels share. Names of the trace reach the page as text only. */

/* Fields of the flat arrays in the data, in their order. */
const E = { lane: 0, begin: 1, ns: 2, wall: 3, cpu: 4, self: 5, gc: 6, blocked: 7, native: 8,
	other: 9, label: 10, group: 11, iteration: 12, parent: 13, flags: 14, cpuFrom: 15, cpuTo: 16,
	pruned: 17, tree: 18 };
const N = { depth: 0, name: 1, group: 2, begin: 3, ns: 4, self: 5, cpuFrom: 6, cpuTo: 7, fate: 8,
	before: 9, after: 10, size: 11 };
const B = { skip: 0, run: 1, group: 2, busy: 3, max: 4, count: 5, size: 6 };
const G = { begin: 0, ns: 1, before: 2, after: 3, label: 4, pid: 5, size: 6 };
const FATES = ["", "changed CPU", "a nested event loop ran inside", "records inside are missing", "clock makes no sense"];

let data;
const $ = (id) => document.getElementById(id);

/* An element with attributes and children; strings become text. */
function el(tag, attributes, ...children) {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(attributes || {})) {
		if (k.startsWith("on"))
			e.addEventListener(k.slice(2), v);
		else if (k === "style")
			e.style.cssText = v;
		else if (v !== null && v !== undefined && v !== false)
			e.setAttribute(k, v === true ? "" : v);
	}
	e.append(...children.filter((c) => c !== null && c !== undefined));
	return e;
}

function fill(parent, ...children) {
	parent.replaceChildren(...children);
}

function three(v) {
	return v < 10 ? v.toFixed(2) : v < 100 ? v.toFixed(1) : v.toFixed(0);
}

function ns(v) {
	if (!v)
		return "0";
	for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3]])
		if (v >= size * 0.9995)
			return three(v / size) + " " + unit;
	return Math.round(v) + " ns";
}

function bytes(v) {
	const sign = v < 0 ? "-" : "";
	let i = 0;
	v = Math.abs(v);
	while (v >= 999.5 && i < 5) {
		v /= 1024;
		i++;
	}
	return sign + (i ? three(v) : v) + " " + ["B", "KB", "MB", "GB", "TB", "PB"][i];
}

const count = (v) => v.toLocaleString("en-US");
const percent = (part, whole) => whole ? (part * 100 / whole >= 99.95 ? "100" : (part * 100 / whole).toFixed(1)) + " %" : "0 %";
const plural = (n, word) => count(n) + " " + word + (n === 1 ? "" : "s");
/* Of sampled stacks it is known how often they were looked at, not who called when. */
const sampled = () => data.report.source.method === "sampled";
const nameOf = (i) => data.names[i];
/* Names as they are read: control and direction characters cannot act. */
const clean = (s) => s.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");

/* ---- Colours: the groups that matter most get the ones easiest to tell. ---- */

const HUES = [212, 28, 145, 275, 340, 185, 48, 100, 245, 10, 165, 310];
const FIXED = { "(native)": "--native", "(gc)": "--gc", "(blocked)": "--blocked", "(not known)": "--lost",
	"(other)": "--native", "(event loop)": "--native" };
const rank = new Map();
const colorCache = new Map();

function css(variable) {
	return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

function isDark() {
	const t = document.documentElement.dataset.theme;
	return t ? t === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function color(group) {
	let c = colorCache.get(group);
	if (c)
		return c;
	if (FIXED[group]) {
		c = css(FIXED[group]);
	} else {
		let r = rank.get(group);
		if (r === undefined) {
			r = 7;
			for (let i = 0; i < group.length; i++)
				r = (r * 31 + group.charCodeAt(i)) % 997;
		}
		const light = (isDark() ? 58 : 52) - (r >= HUES.length ? 10 : 0);
		c = `hsl(${HUES[r % HUES.length]} 58% ${light}%)`;
	}
	colorCache.set(group, c);
	return c;
}

const dot = (group) => el("i", { class: "dot", style: `background:${color(group)}` });

/* The link to a group's documentation, if one was given. */
function docsLink(group) {
	const url = Object.hasOwn(data.docs, group) ? data.docs[group] : "";
	return /^https?:\/\//i.test(url)
		? el("a", { href: url, target: "_blank", rel: "noopener noreferrer", class: "docs" }, "documentation") : null;
}

/* A figure that tests read without the rounding people want. */
const figure = (key, value, text) => el("b", { "data-key": key, "data-value": value }, text);
const tile = (key, value, text, label) => el("div", { class: "tile" }, figure(key, value, text), el("span", {}, label));

/* A bar of shares: [class of colour, ns, label]. */
function stack(box, parts, whole) {
	fill(box, ...parts.filter((p) => p[1] > 0).map((p) =>
		el("i", { style: `width:${p[1] * 100 / whole}%;background:var(--${p[0]})`, title: `${p[2]}: ${ns(p[1])}, ${percent(p[1], whole)}` })));
}

/* Shows a group's events in the timeline. */
function showGroup(group) {
	$("search").value = group;
	searchEvents();
	$("timeline").scrollIntoView({ block: "start" });
	$("lanes-canvas").focus({ preventScroll: true });
	gotoMatch(1);
}
