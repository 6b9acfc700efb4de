/* SPDX-License-Identifier: BSD-2-Clause */
/* All groups, sortable and filterable. */

const COLUMNS = [["name", "Group"], ["self_ns", "Itself", ns], ["wall_ns", "Charged", ns], ["cpu_ns", "CPU", cpu], ["blocked_ns", "Blocked", ns],
	["gc_ns", "GC", ns], ["max_ns", "Longest", ns], ["p50_ns", "p50", ns], ["p99_ns", "p99", ns], ["events", "Turns", count],
	["ticks", "Ticks", count], ["spans", "Spans", count], ["moved", "Moved", count], ["stale", "Stale", count], ["complete", "Complete", (v) => v ? "yes" : "no"]];
/* With ~ where it may be off by more than a hundredth, as by samples it may. */
function cpu(v, g) {
	return (g.samples || g.cpu_margin_ns > v / 100 ? "~" : "") + ns(v);
}

const sorting = { key: "self_ns", up: false };

function compareRows(a, b) {
	const x = a[sorting.key], y = b[sorting.key];
	const order = typeof x === "string" ? (x < y ? -1 : x > y ? 1 : 0) : x - y;
	return (sorting.up ? order : -order) || (a.name < b.name ? -1 : 1);
}

function tableRow(g) {
	const show = () => showGroup(g.name);
	return el("tr", { tabindex: "0", "data-group": g.name, onclick: show, onkeydown: (ev) => {
		const next = ev.key === "ArrowDown" ? "nextElementSibling" : ev.key === "ArrowUp" ? "previousElementSibling" : "";
		if (ev.key === "Enter")
			show();
		else if (!next)
			return;
		else if (ev.currentTarget[next])
			ev.currentTarget[next].focus();
		ev.preventDefault();
	} }, ...COLUMNS.map(([key, , text]) => key === "name"
		? el("td", {}, dot(g.name), clean(g.name))
		: el("td", { "data-key": key, "data-value": String(g[key]) }, text(g[key], g))));
}

function drawTable() {
	const word = $("filter").value.trim().toLowerCase(), all = data.report.groups;
	const rows = all.filter((g) => g.name.toLowerCase().includes(word)).sort(compareRows);
	const cut = data.group_count > all.length ? `; the page holds ${count(all.length)} of ${count(data.group_count)}` : "";
	for (const th of $("table").querySelectorAll("thead th")) {
		const on = th.dataset.sort === sorting.key;
		if (on)
			th.setAttribute("aria-sort", sorting.up ? "ascending" : "descending");
		else
			th.removeAttribute("aria-sort");
		th.firstChild.textContent = COLUMNS.find((c) => c[0] === th.dataset.sort)[1] + (on ? (sorting.up ? " \u25b2" : " \u25bc") : "");
	}
	fill($("table").tBodies[0], ...rows.map(tableRow));
	$("filter-count").textContent = `${count(rows.length)} of ${plural(all.length, "group")}${cut}`;
}

function startTable() {
	fill($("table").tHead, el("tr", {}, ...COLUMNS.map(([key, title]) => el("th", { scope: "col", "data-sort": key },
		el("button", { type: "button", onclick: () => {
			sorting.up = sorting.key === key ? !sorting.up : key === "name";
			sorting.key = key;
			drawTable();
		} }, title)))));
	$("filter").addEventListener("input", drawTable);
	$("filter").addEventListener("keydown", (ev) => {
		const first = $("table").tBodies[0].firstElementChild;
		if (ev.key === "ArrowDown" && first) {
			first.focus();
			ev.preventDefault();
		}
	});
}
