/* SPDX-License-Identifier: BSD-2-Clause */
/* Which group calls which, laid out by forces. */

const GRAPH_NODES = 80;
const places = new Map(); /* group -> [x, y], kept when data comes */
let graphOn = null;

function graphData() {
	const nodes = new Map(), links = [], e = data.edges;
	const self = new Map(data.report.groups.map((g) => [g.name, g.self_ns]));
	const node = (name) => {
		if (!nodes.has(name)) {
			const at = places.get(name);
			nodes.set(name, { name, self: self.get(name) || 0, in: 0, x: at && at[0], y: at && at[1] });
		}
		return nodes.get(name);
	};
	for (let i = 0; i < e.length; i += 4) {
		const from = nameOf(e[i]), to = nameOf(e[i + 1]);
		/* Collections and blocking calls are no groups; every group has some. */
		if (to === "(gc)" || to === "(blocked)")
			continue;
		const fresh = !nodes.has(from) + !nodes.has(to);
		if (nodes.size + fresh > GRAPH_NODES)
			continue;
		const target = node(to);
		node(from);
		target.in += e[i + 3];
		links.push({ source: from, target: to, calls: e[i + 2], ns: e[i + 3] });
	}
	return { nodes: [...nodes.values()], links };
}

function sideList(title, list) {
	return list.length ? [el("h3", {}, title), el("ul", {}, ...list.slice(0, 12).map(([name, l]) =>
		el("li", {}, el("span", {}, dot(name), clean(name)), el("span", {}, `${ns(l.ns)}, ${count(l.calls)}${sampled() ? " looks" : "\u00d7"}`))))] : [];
}

function drawSide(name, links) {
	const side = $("graph-side");
	if (!name) {
		fill(side, el("p", { class: "note" }, "Choose a group to see whom it calls and who calls it."));
		return;
	}
	const g = data.report.groups.find((q) => q.name === name);
	fill(side, el("h4", {}, dot(name), clean(name)),
		g ? el("p", {}, `${ns(g.self_ns)} of its own, ${ns(g.wall_ns)} with what it called.`) : "",
		el("div", { class: "tools" }, name === "(event loop)" ? "" : el("button", { type: "button", onclick: () => showGroup(name) }, "Show its spans"), docsLink(name) || ""),
		...sideList("Calls", links.filter((l) => l.source.name === name).map((l) => [l.target.name, l])),
		...sideList("Called by", links.filter((l) => l.target.name === name).map((l) => [l.source.name, l])));
}

function linkPath(d) {
	const dx = d.target.x - d.source.x, dy = d.target.y - d.source.y, far = Math.hypot(dx, dy) || 1;
	const x0 = d.source.x + dx / far * d.source.r, y0 = d.source.y + dy / far * d.source.r;
	const x1 = d.target.x - dx / far * (d.target.r + 7), y1 = d.target.y - dy / far * (d.target.r + 7);
	if (d.source === d.target)
		return `M${d.source.x},${d.source.y - d.source.r}c-26,-32 26,-32 4,0`;
	/* Bent to the right, so that two groups that call each other show both. */
	return `M${x0},${y0}Q${(x0 + x1) / 2 - dy * 0.12},${(y0 + y1) / 2 + dx * 0.12} ${x1},${y1}`;
}

/* Fills the box, whatever room the forces have taken. */
function spread(nodes, width, height) {
	const [left, right] = d3.extent(nodes, (n) => n.x), [top, bottom] = d3.extent(nodes, (n) => n.y);
	const sx = Math.min(2.2, (width - 150) / (right - left || 1)), sy = Math.min(2.2, (height - 90) / (bottom - top || 1));
	for (const n of nodes) {
		n.x = (n.x - (left + right) / 2) * sx;
		n.y = (n.y - (top + bottom) / 2) * sy;
	}
}

function drawGraph() {
	const box = $("graph-box"), { nodes, links } = graphData();
	fill(box);
	if (!nodes.length) {
		fill(box, el("p", { class: "empty", style: "padding:1.2rem" }, "No group was entered."));
		drawSide(null);
		return;
	}
	const width = box.clientWidth || 800, height = Math.min(480, width < 560 ? 384 : 480);
	const most = Math.max(...nodes.map((n) => n.self), 1), widest = Math.max(...links.map((l) => l.ns), 1);
	for (const n of nodes)
		n.r = 6 + 22 * Math.sqrt(n.self / most);
	const svg = d3.select(box).append("svg").attr("viewBox", [-width / 2, -height / 2, width, height]).attr("role", "group").attr("aria-label", "Graph of calls between groups");
	svg.append("defs").append("marker").attr("id", "arrow").attr("viewBox", "0 0 8 8").attr("refX", 2).attr("refY", 4)
		.attr("markerWidth", 9).attr("markerHeight", 9).attr("markerUnits", "userSpaceOnUse").attr("orient", "auto")
		.append("path").attr("d", "M0,0L8,4L0,8z").attr("fill", css("--soft"));
	const plane = svg.append("g");
	const line = plane.append("g").attr("fill", "none").attr("stroke", css("--soft")).selectAll("path").data(links).join("path")
		.attr("stroke-width", (d) => 1 + 7 * Math.sqrt(d.ns / widest)).attr("opacity", (d) => 0.22 + 0.38 * Math.sqrt(d.ns / widest)).attr("marker-end", "url(#arrow)");
	line.append("title").text((d) => `${clean(d.source)} calls ${clean(d.target)}: ${count(d.calls)} ${sampled() ? "looks" : "times"}, ${ns(d.ns)}`);
	const ball = plane.append("g").selectAll("g").data(nodes).join("g").attr("class", "node").attr("tabindex", 0).attr("role", "button")
		.attr("data-group", (d) => d.name).attr("aria-label", (d) => `${clean(d.name)}, ${ns(d.self)} of its own`);
	ball.append("circle").attr("r", (d) => d.r).attr("fill", (d) => color(d.name));
	ball.append("text").attr("dy", (d) => d.r + 13).attr("text-anchor", "middle").text((d) => clean(d.name).slice(0, 40));
	const force = d3.forceSimulation(nodes)
		.force("link", d3.forceLink(links).id((d) => d.name).distance((l) => 110 + l.source.r + l.target.r).strength(0.12))
		.force("charge", d3.forceManyBody().strength(-900)).force("x", d3.forceX().strength(0.06 * Math.min(1, height / width * 1.2)))
		.force("y", d3.forceY().strength(0.11)).force("collide", d3.forceCollide((d) => d.r + 20)).stop();
	const place = () => {
		for (const n of nodes) {
			n.x = Math.max(-width / 2 + n.r + 34, Math.min(width / 2 - n.r - 34, n.x));
			n.y = Math.max(-height / 2 + n.r + 6, Math.min(height / 2 - n.r - 20, n.y));
			if (!places.has(n.name))
				places.set(n.name, [n.x, n.y]);
		}
		line.attr("d", linkPath);
		ball.attr("transform", (d) => `translate(${d.x},${d.y})`);
	};
	const fresh = nodes.filter((n) => !places.has(n.name));
	if (fresh.length === nodes.length) {
		force.tick(260);
		spread(nodes, width, height);
	} else if (fresh.length) {
		/* New ones find their place among the old. */
		for (const n of nodes)
			if (places.has(n.name))
				[n.fx, n.fy] = places.get(n.name);
		force.tick(120);
		for (const n of nodes)
			n.fx = n.fy = null;
	}
	/* From now on nodes stay where they are, or are put, and only make room. */
	const anchor = (axis) => (n) => places.get(n.name)[axis];
	place();
	force.force("link", null).force("charge", null).force("x", d3.forceX(anchor(0)).strength(0.2)).force("y", d3.forceY(anchor(1)).strength(0.2));
	force.on("tick", place);
	const choose = (name) => {
		graphOn = name;
		const near = new Set(links.filter((l) => l.source.name === name || l.target.name === name).flatMap((l) => [l.source.name, l.target.name]));
		ball.classed("on", (d) => d.name === name).classed("dim", (d) => name && d.name !== name && !near.has(d.name));
		line.classed("dim", (d) => name && d.source.name !== name && d.target.name !== name);
		drawSide(name, links);
	};
	ball.on("click", (ev, d) => choose(d.name)).on("dblclick", (ev, d) => {
		const link = docsLink(d.name);
		if (link)
			link.click();
	}).on("keydown", (ev, d) => {
		if (ev.key === "Enter" || ev.key === " ") {
			choose(d.name);
			ev.preventDefault();
		}
	});
	svg.on("click", (ev) => { if (ev.target === svg.node()) choose(null); });
	ball.call(d3.drag().on("start", (ev, d) => {
		/* Others make room, where moving things are welcome. */
		if (!matchMedia("(prefers-reduced-motion: reduce)").matches)
			force.alphaTarget(0.2).restart();
		d.fx = d.x;
		d.fy = d.y;
	}).on("drag", (ev, d) => {
		d.x = d.fx = ev.x;
		d.y = d.fy = ev.y;
		place();
	}).on("end", (ev, d) => {
		force.alphaTarget(0);
		places.set(d.name, [d.x, d.y]);
		force.force("x").x(anchor(0));
		force.force("y").y(anchor(1));
		d.fx = d.fy = null;
	}));
	choose(nodes.some((n) => n.name === graphOn) ? graphOn : null);
}
