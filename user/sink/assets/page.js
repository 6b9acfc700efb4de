/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the panels together; in a live page, again whenever data comes. */

const THEMES = ["auto", "light", "dark"];

function setTheme(theme) {
	if (theme === "auto")
		delete document.documentElement.dataset.theme;
	else
		document.documentElement.dataset.theme = theme;
	$("theme").textContent = "Theme: " + theme;
	$("theme").dataset.theme = theme;
	try {
		localStorage.setItem("vmspan-theme", theme);
	} catch {
		/* A page from a file may have no storage. */
	}
}

function savedTheme() {
	try {
		const t = localStorage.getItem("vmspan-theme");
		return THEMES.includes(t) ? t : "auto";
	} catch {
		return "auto";
	}
}

function drawAll() {
	const s = data.report.source;
	colorCache.clear();
	/* A group keeps its colour when data comes. */
	for (const row of data.impact)
		if (!rank.has(data.report.groups[row].name))
			rank.set(data.report.groups[row].name, rank.size);
	drawSummary();
	loadTimeline();
	drawTimeline();
	if (T.selected >= data.events.length)
		showEvent(-1);
	drawCharts();
	drawGraph();
	drawTable();
	$("foot").textContent = `Made by vmspan from ${s.kind === "live" ? "a live trace" : "a recording"}; ${s.method} method. ` +
		`Spans that changed CPU: ${s.migrated}; nested event loops: ${s.nested}. The page holds everything it shows and loads nothing.`;
}

function redrawColors() {
	colorCache.clear();
	drawAll();
}

/* Rows, cards and nodes are made anew: finds the one that takes a focused one's
 * place, by its group. What has an id is never made anew. */
function focused() {
	const a = document.activeElement, box = a.closest("[data-group]"), section = a.closest("section");
	if (a.id || !box || !section)
		return () => null;
	const at = [...box.querySelectorAll("button, a")].indexOf(a);
	return () => {
		const now = section.querySelector(`[data-group="${CSS.escape(box.dataset.group)}"]`);
		return now && at >= 0 ? now.querySelectorAll("button, a")[at] : now;
	};
}

/* Data that comes while a person looks at an event must not move it away. */
function update(text) {
	const old = T.selected >= 0 ? data.events[T.selected] : null;
	data = JSON.parse(text);
	const same = old ? data.events.findIndex((e) => e[E.begin] === old[E.begin] && e[E.lane] === old[E.lane] && e[E.iteration] === old[E.iteration]) : -1;
	const successor = focused();
	T.selected = same;
	T.cursor = -1;
	drawAll();
	successor()?.focus({ preventScroll: true });
	T.cursor = same;
}

function follow() {
	const source = new EventSource("events");
	source.addEventListener("message", (ev) => {
		if (!document.hidden)
			update(ev.data);
		document.body.dataset.updates = Number(document.body.dataset.updates || 0) + 1;
	});
	source.addEventListener("end", () => {
		source.close();
		$("state").textContent = "ended";
	});
	source.addEventListener("error", () => {
		$("state").textContent = source.readyState === EventSource.CLOSED ? "disconnected" : "reconnecting";
	});
}

function start() {
	data = JSON.parse($("data").textContent);
	setTheme(savedTheme());
	startSummary();
	startTimeline();
	startTable();
	drawAll();
	$("theme").addEventListener("click", () => {
		setTheme(THEMES[(THEMES.indexOf($("theme").dataset.theme) + 1) % THEMES.length]);
		redrawColors();
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawColors);
	let width = innerWidth;
	addEventListener("resize", () => {
		if (innerWidth === width)
			return;
		width = innerWidth;
		layoutLanes();
		resizeCharts();
		drawGraph();
	});
	if (data.live)
		follow();
	document.title = `vmspan: ${clean(data.file)} - ready`;
}

start();
