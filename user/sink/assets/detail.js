/* SPDX-License-Identifier: BSD-2-Clause */
/* One event: where its time went, and who called whom in it. */

const ROWS_FIRST = 300;

function fact(key, value, text, words) {
	return el("span", {}, figure(key, value, text), " " + words);
}

function cpus(from, to) {
	return from === to ? String(from) : `${from} \u2192 ${to}`;
}

function remark(t, k) {
	const notes = [], fate = t[k + N.fate];
	if (fate & 127)
		notes.push(FATES[fate & 127] || "not measured");
	if (fate & 128)
		notes.push("its end was never marked");
	if (nameOf(t[k + N.group]) === "(gc)" && (t[k + N.before] || t[k + N.after]))
		notes.push(`${bytes(t[k + N.before])} \u2192 ${bytes(t[k + N.after])}`);
	if (nameOf(t[k + N.group]) === "(blocked)" && t[k + N.before])
		notes.push(`waits for ${t[k + N.before]}`);
	return notes.join(", ");
}

function treeRow(e, k) {
	const t = e[E.tree], group = nameOf(t[k + N.group]), name = nameOf(t[k + N.name]) || group;
	const hit = T.hitNames && (T.hitNames[t[k + N.name]] || T.hitNames[t[k + N.group]]);
	const note = remark(t, k), whole = e[E.ns] || 1;
	return el("tr", { class: hit ? "hit" : null, "data-ns": t[k + N.ns], "data-self": t[k + N.self] },
		el("td", { style: `padding-left:${0.6 + t[k] * 1.1}rem` }, dot(group), clean(name), " ",
			el("small", {}, [group === name ? "" : clean(group), note].filter(Boolean).join(" \u00b7 "))),
		el("td", {}, ns(t[k + N.ns])), el("td", {}, ns(t[k + N.self])),
		el("td", {}, cpus(t[k + N.cpuFrom], t[k + N.cpuTo])),
		el("td", { class: "when" }, el("span", {}, el("i", {
			style: `left:${t[k + N.begin] * 100 / whole}%;width:${t[k + N.ns] * 100 / whole}%;background:${color(group)}` }))));
}

function treeTable(e) {
	const t = e[E.tree], rows = t.length / N.size, body = el("tbody");
	const add = (from, to) => {
		for (let i = from; i < to; i++)
			body.append(treeRow(e, i * N.size));
	};
	add(0, Math.min(rows, ROWS_FIRST));
	const table = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Calls of this turn" },
		el("table", { class: "tree" },
			el("thead", {}, el("tr", {}, ...["Who called whom", "Time", "Itself", "CPU", "When"].map((s) =>
				el("th", { class: s === "When" ? "when" : null, scope: "col" }, s)))), body));
	if (rows <= ROWS_FIRST)
		return [table];
	return [table, el("button", { type: "button", onclick: (ev) => {
		add(ROWS_FIRST, rows);
		ev.target.remove();
	} }, `Show all ${count(rows)} calls`)];
}

function showEvent(i) {
	const box = $("detail"), e = i >= 0 ? data.events[i] : null;
	T.selected = i;
	drawSoon();
	if (!e) {
		fill(box);
		return;
	}
	const known = e[E.self] + e[E.gc] + e[E.blocked] + e[E.native] + e[E.other];
	const parts = [["self", e[E.self], "own code"], ["gc", e[E.gc], "collections"], ["blocked", e[E.blocked], "blocked"],
		["native", e[E.native], "native"], ["lost", e[E.other], "not measured"]];
	const bar = el("div", { class: "stack" });
	const [thread, process] = laneTitle(T.lanes[e[E.lane]]);
	stack(bar, parts, known || 1);
	fill(box,
		el("h3", {}, clean(nameOf(e[E.label]) || (e[E.flags] & 1 ? "outside any turn" : "turn")) + (e[E.iteration] ? ` ${e[E.iteration]}` : ""),
			e[E.flags] >> 1 ? el("span", { class: "badge poor" }, "incomplete: " + data.missing[e[E.flags] >> 1]) : null,
			el("button", { type: "button", onclick: () => { showEvent(-1); $("lanes-canvas").focus(); } }, "Close")),
		el("div", { class: "facts" }, fact("event.wall", e[E.wall], ns(e[E.wall]), "long"), fact("event.begin", e[E.begin], ns(e[E.begin]), "after the start"),
			fact("event.cpu", e[E.cpu], ns(e[E.cpu]), "on a CPU"), el("span", {}, `${thread}, ${process}`),
			el("span", {}, "CPU " + cpus(e[E.cpuFrom], e[E.cpuTo])),
			e[E.parent] ? el("span", {}, `nested in turn ${e[E.parent]}`) : null,
			e[E.ns] > e[E.wall] ? el("span", {}, `${ns(e[E.ns] - e[E.wall])} in nested turns`) : null),
		bar,
		el("div", { class: "facts" }, ...parts.filter((p) => p[1]).map((p) => fact("event." + p[0], p[1], ns(p[1]), p[2]))),
		...(e[E.tree] ? treeTable(e) : [el("p", { class: "note" }, data.omitted.trees && e[E.wall] <= data.omitted.trees_up_to_ns
			? "Its calls were left out to keep the page small; a selection by time in the export keeps them." : "Nothing was entered in it.")]),
		e[E.pruned] ? el("p", { class: "note" }, `${plural(e[E.pruned], "short call")} left out.`) : "");
}
