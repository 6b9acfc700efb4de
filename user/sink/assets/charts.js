/* SPDX-License-Identifier: BSD-2-Clause */
/* Heap over time, and pause against bytes freed. */

/* Steps of an axis of bytes: its labels are in powers of 1024. */
const BYTE_STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);
let charts = [];

function axis(values, extra) {
	return { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 },
		values: (u, list) => list.map(values), size: 76, font: "11px system-ui, sans-serif", ...extra };
}

function chart(box, options, table) {
	const width = Math.max(240, box.clientWidth);
	const u = new uPlot({ width, height: 250, ...options }, table, box);
	charts.push([u, box]);
	return u;
}

function seriesTitle(s) {
	const p = data.report.processes.find((q) => q.pid === s.pid);
	return `${clean(nameOf(s.label))}, ${clean(p ? p.name : "process")} ${s.pid}`;
}

const isBytes = (s) => /heap|bytes|memory/i.test(nameOf(s.label));

/* [times, values] of a series, one value a time: uPlot wants them ascending. */
function column(s) {
	const x = [], y = [];
	for (let i = 0; i < s.points.length; i += 2) {
		if (x.length && x.at(-1) === s.points[i])
			y[y.length - 1] = s.points[i + 1];
		else {
			x.push(s.points[i]);
			y.push(s.points[i + 1]);
		}
	}
	return [x, y];
}

function drawHeap(box) {
	const all = data.series.filter((s) => s.points.length).slice(0, 12);
	fill(box);
	box.dataset.points = all.reduce((n, s) => n + s.points.length / 2, 0);
	if (!all.length) {
		fill(box, el("p", { class: "empty" }, "No heap size was recorded."));
		return;
	}
	const heaps = all.every(isBytes);
	chart(box, {
		scales: { x: { time: false }, y: { range: (u, low, high) => [Math.min(0, low), high * 1.08 || 1] } },
		axes: [axis((v) => ns(v), { size: 34 }), axis((v) => heaps ? bytes(v) : count(v), heaps ? { incrs: BYTE_STEPS } : {})],
		series: [{ label: "time", value: (u, v) => v === null ? "" : ns(v) }, ...all.map((s, i) => ({
			label: seriesTitle(s), stroke: `hsl(${HUES[i % HUES.length]} 60% ${isDark() ? 60 : 45}%)`, width: 1.5, spanGaps: true,
			points: { show: s.points.length < 80, size: 5, fill: css("--card") },
			value: (u, v) => v === null ? "" : isBytes(s) ? bytes(v) : count(v) }))],
	}, all.length === 1 ? column(all[0]) : uPlot.join(all.map(column)));
}

function drawPauses(box) {
	const g = data.gcs, list = [];
	fill(box);
	for (let i = 0; i < g.length; i += G.size)
		list.push([Math.max(0, g[i + G.before] - g[i + G.after]), g[i + G.ns]]);
	list.sort((a, b) => a[0] - b[0]);
	box.dataset.points = list.length;
	if (!list.length) {
		fill(box, el("p", { class: "empty" }, "No collection was recorded."));
		return;
	}
	chart(box, {
		scales: { x: { time: false, range: (u, low, high) => [0, high * 1.05 || 1] }, y: { range: (u, low, high) => [0, high * 1.1 || 1] } },
		axes: [axis((v) => bytes(v), { size: 34, incrs: BYTE_STEPS }), axis((v) => ns(v))],
		series: [{ label: "freed", value: (u, v) => v === null ? "" : bytes(v) },
			{ label: "pause", stroke: css("--gc"), fill: css("--gc"), paths: () => null, points: { show: true, size: 7, stroke: css("--gc"), fill: css("--card") },
				value: (u, v) => v === null ? "" : ns(v) }],
	}, [list.map((p) => p[0]), list.map((p) => p[1])]);
}

/* Of the collections that are shown. */
function gcTotals() {
	const g = data.gcs, sum = { count: g.length / G.size, total_ns: 0, max_ns: 0, freed_bytes: 0 };
	for (let i = 0; i < g.length; i += G.size) {
		sum.total_ns += g[i + G.ns];
		sum.max_ns = Math.max(sum.max_ns, g[i + G.ns]);
		sum.freed_bytes += Math.max(0, g[i + G.before] - g[i + G.after]);
	}
	return sum;
}

function drawCharts() {
	const gc = data.narrowed ? gcTotals() : data.report.gc;
	for (const [u] of charts)
		u.destroy();
	charts = [];
	fill($("gc-tiles"), tile("gc.count", gc.count, count(gc.count), "collections"), tile("gc.total_ns", gc.total_ns, ns(gc.total_ns), "in collections"),
		tile("gc.max_ns", gc.max_ns, ns(gc.max_ns), "longest pause"), tile("gc.freed_bytes", gc.freed_bytes, bytes(gc.freed_bytes), "freed"));
	drawHeap($("heap-chart"));
	drawPauses($("gc-chart"));
}

function resizeCharts() {
	for (const [u, box] of charts)
		u.setSize({ width: Math.max(240, box.clientWidth), height: 250 });
}
