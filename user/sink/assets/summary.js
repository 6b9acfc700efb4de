/* SPDX-License-Identifier: BSD-2-Clause */
/* The summary: what a person wants to know first. */

const CARDS_FIRST = 3;
let cardsAll = false;

/* durations: events longer than 1, 2, 4 ... 512 ms, each including the longer. */
function jankBars(box, durations) {
	const most = Math.log2(1 + Math.max(...durations, 1));
	fill(box, ...durations.map((n, i) => el("div", {
		class: !n ? "z" : i > 7 ? "p" : i > 3 ? "w" : "",
		title: `${plural(n, "turn")} longer than ${1 << i} ms`,
	}, el("small", {}, n ? count(n) : ""),
	el("i", { style: `height:${n ? Math.max(8, Math.log2(1 + n) / most * 72) : 1}%`, "data-key": "durations", "data-value": n }),
	el("small", {}, String(1 << i)))));
}

function verdict(g) {
	if (g.durations[8])
		return "poor";
	return g.durations[4] ? "average" : "good";
}

/* A text that follows the name of a group, standing alone. */
const sentence = (s) => s.charAt(0).toUpperCase() + s.slice(1) + ".";

function card(row) {
	const g = data.report.groups[row];
	const called = Math.max(0, g.wall_ns - g.self_ns - g.gc_ns - g.blocked_ns);
	const parts = [["self", g.self_ns, "own code"], ["gc", g.gc_ns, "collections"],
		["blocked", g.blocked_ns, "blocked"], ["called", called, "code it called"]];
	const share = el("div", { class: "stack" }), bars = el("div", { class: "bars" });
	stack(share, parts, parts.reduce((s, p) => s + p[1], 0) || 1);
	jankBars(bars, g.durations);
	return el("li", { "data-group": g.name },
		el("div", {},
			el("div", { class: "name" }, dot(g.name),
				el("button", { type: "button", title: "Show its events", onclick: () => showGroup(g.name) }, clean(g.name)),
				el("span", { class: "badge " + verdict(g) }, verdict(g)),
				g.complete ? null : el("span", { class: "badge poor" }, "incomplete"), docsLink(g.name)),
			el("p", {}, sentence(data.group_texts[row])),
			share,
			el("div", { class: "shares" }, parts.filter((p) => p[1]).map((p) => `${p[2]} ${ns(p[1])}`).join(" \u00b7 "))),
		bars);
}

function drawCards() {
	const list = cardsAll ? data.impact : data.impact.slice(0, CARDS_FIRST);
	const more = $("cards-all");
	fill($("cards"), ...(list.length ? list.map(card) : [el("li", { class: "empty" }, "No group was entered.")]));
	more.hidden = data.impact.length <= CARDS_FIRST;
	more.textContent = cardsAll ? "Show the first three" : `Show all ${count(data.impact.length)}`;
}

function headline() {
	const r = data.report, e = r.events;
	const row = r.groups.findIndex((g) => g.name === data.worst);
	const text = `${r.processes.length ? clean(data.target_text) : "Nothing"} ran ${plural(e.count, "turn")} in ${ns(r.source.duration_ns)}.`;
	if (row < 0)
		return [text + (e.count ? "" : " There is nothing to blame.")];
	return [text + " ", el("b", {}, clean(data.worst)), " " + clean(data.group_texts[row]) + ".",
		data.nobody_text ? " " + sentence(data.nobody_text) : ""];
}

/* What the page leaves out of the trace because it was told to. */
function chosenNote() {
	const said = [];
	if (data.chosen)
		said.push(`Only groups that match ${clean(data.chosen)} are in the lists, and in the timeline only the turns in which one of them ran` +
			(data.left_out ? ` (${plural(data.left_out, "other turn")} left out)` : "") + ".");
	if (data.narrowed)
		said.push("Timeline, heap and graph hold the part of the trace that was selected.");
	if (said.length)
		said.push("Totals and figures of groups are those of the whole trace.");
	return said.join(" ");
}

function drawSummary() {
	const r = data.report, l = r.ledger, e = r.events;
	const parts = [["self", l.self_ns, "groups' own code", "self_ns"], ["gc", l.gc_ns, "collections", "gc_ns"],
		["blocked", l.blocked_ns, "blocked", "blocked_ns"], ["native", l.native_ns, "native, outside any group", "native_ns"],
		["lost", l.moved_ns, "changed CPU", "moved_ns"], ["stale", l.stale_ns, "around nested loops", "stale_ns"],
		["lost", l.lost_ns, "lost", "lost_ns"]];
	$("file").textContent = clean(data.file);
	$("file").title = clean(data.file);
	$("state").textContent = data.live ? "live" : data.complete ? "complete" : "incomplete";
	$("state").className = "badge " + (data.complete ? "good" : "poor");
	fill($("headline"), ...headline());
	fill($("tiles"),
		tile("events.count", e.count, count(e.count), "turns of the event loop"),
		tile("events.wall_ns", e.wall_ns, ns(e.wall_ns), "in turns, all threads"),
		tile("events.cpu_ns", e.cpu_ns, ns(e.cpu_ns), "on a CPU"),
		tile("events.max_ns", e.max_ns, ns(e.max_ns), "longest turn"),
		sampled() ? tile("events.samples", e.samples, count(e.samples), "looks at stacks")
			: tile("spans", r.spans, count(r.spans), "spans"),
		tile("inputs", r.inputs, count(r.inputs), "user inputs"),
		tile("frames", r.frames, count(r.frames), "frames shown"),
		tile("events.incomplete", e.incomplete, data.complete ? "complete" : count(e.incomplete),
			data.complete ? "nothing lost" : "turns lack data"));
	$("incomplete").hidden = data.complete && !r.source.note;
	$("incomplete").textContent = [data.complete ? "" : data.complete_text, data.losses_text, r.source.note || ""]
		.filter(Boolean).map(clean).join(". ");
	$("chosen").textContent = chosenNote();
	$("chosen").hidden = !$("chosen").textContent;
	stack($("ledger"), parts, l.event_wall_ns || 1);
	fill($("ledger-legend"), ...parts.filter((p) => p[1] || !["lost", "stale"].includes(p[0])).map((p) => el("span", {},
		el("i", { style: `background:var(--${p[0]})` }), figure("ledger." + p[3], p[1], ns(p[1])), " " + p[2] + ", " + percent(p[1], l.event_wall_ns))));
	jankBars($("turns"), e.durations);
	drawCards();
}

function startSummary() {
	$("cards-all").addEventListener("click", () => {
		cardsAll = !cardsAll;
		drawCards();
	});
}
