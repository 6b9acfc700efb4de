// SPDX-License-Identifier: BSD-2-Clause
// Opens pages in headless Chromium and uses them as a person would. Each page has a context of
// its own, with nothing of the ones before: to start the browser is what is dear.
//   node html.mjs PLAYWRIGHT CHROMIUM SCREENS {CASE PAGE-OR-URL REPORT}...    REPORT may be ''
// CASE: figures, use, looks, hostile, chosen, load, live. Prints ok and not ok lines, and their
// number.
import { pathToFileURL } from "node:url";
import { readFileSync, existsSync } from "node:fs";
import { join, basename } from "node:path";

const [library, executablePath, screens, ...visits] = process.argv.slice(2);
const { chromium: browsers } = await import(pathToFileURL(library).href);
let failed = 0, results = 0;
/* The page that is looked at. */
let report, url, label, page, errors, requests;
/* Which kinds of CPU time there were: known, and estimates. */
let estimates = new Set();
const patience = 120000; /* ms for what a browser on a busy machine is to come to */

function is(name, got, want) {
	const same = JSON.stringify(got) === JSON.stringify(want);
	failed += !same;
	results++;
	console.log(same ? `ok ${label}: ${name}` : `not ok ${label}: ${name} - got ${JSON.stringify(got)}, expected ${JSON.stringify(want)}`);
}

const yes = (name, got) => is(name, Boolean(got), true);

const browser = await browsers.launch({ executablePath, timeout: patience, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--in-process-gpu", "--renderer-process-limit=1"] });

async function turn_to(where, report_file) {
	report = report_file && JSON.parse(readFileSync(report_file, "utf8"));
	url = existsSync(where) ? pathToFileURL(where).href : where;
	label = existsSync(where) ? basename(where, ".html") : "served";
	errors = [];
	requests = [];
	page = await browser.newPage();
	page.setDefaultTimeout(patience);
	page.on("pageerror", (e) => errors.push(String(e)));
	page.on("console", (m) => m.type() === "error" && errors.push(m.text()));
	page.on("request", (r) => requests.push(r.url()));
}

async function open(width = 1360, height = 900) {
	await page.setViewportSize({ width, height });
	await page.goto(url);
	await page.waitForFunction(() => / - ready$/.test(document.title));
}

const value = (selector) => page.$eval(selector, (e) => e.dataset.value);
const text = (selector) => page.$eval(selector, (e) => e.textContent);
const key = (k) => page.keyboard.press(k);
const view = async () => {
	await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
	return page.$eval("#lanes-canvas", (c) => [Number(c.dataset.from), Number(c.dataset.to)]);
};
const shot = (name, fullPage = true) => page.screenshot({ path: join(screens, `${name}.png`), fullPage });

/* Every figure the page shows is one of report --json. */
async function figures() {
	await open();
	is("title", await page.title(), `vmspan: ${basename(report.source.file)} - ready`);
	const shown = await page.$$eval("[data-key]:not(td):not(i)", (list) => list.map((e) => [e.dataset.key, e.dataset.value]));
	const at = (path) => String(path.split(".").reduce((o, k) => o[k], report));
	is("tiles and ledger", shown.filter(([k, v]) => at(k) !== v), []);
	yes("tiles and ledger are there", shown.length >= 15 || !report.events.count);
	is("turns by length", await page.$$eval("#turns i", (l) => l.map((e) => Number(e.dataset.value))), report.events.durations);
	if (report.groups.length > 3)
		await page.click("#cards-all");
	const cards = await page.$$eval("#cards li[data-group]", (l) => l.map((e) =>
		[e.dataset.group, [...e.querySelectorAll("[data-key=durations]")].map((i) => Number(i.dataset.value))]));
	is("cards", Object.fromEntries(cards.sort()), Object.fromEntries(report.groups.map((g) => [g.name, g.durations]).sort()));
	const rows = await page.$$eval("#table tbody tr", (l) => l.map((r) =>
		[r.dataset.group, Object.fromEntries([...r.querySelectorAll("[data-key]")].map((c) => [c.dataset.key, c.dataset.value]))]));
	is("table: groups", rows.map((r) => r[0]).sort(), report.groups.map((g) => g.name).sort());
	is("table: figures", rows.flatMap(([name, cells]) => {
		const g = report.groups.find((q) => q.name === name);
		return Object.entries(cells).filter(([k, v]) => String(g[k]) !== v).map(([k, v]) => [name, k, v, g[k]]);
	}), []);
	/* CPU time that may be off by more than a hundredth, by the margin or by samples, says so. */
	const about = (g) => g.samples > 0 || (g.cpu_margin_ns || 0) > g.cpu_ns / 100;
	const marked = await page.$$eval("#table tbody td[data-key=cpu_ns]", (l) => l.map((c) => [c.parentNode.dataset.group, c.textContent.startsWith("~")]));
	is("table: estimates", marked.filter(([name, mark]) => mark !== about(report.groups.find((g) => g.name === name))), []);
	estimates = new Set([...estimates, ...marked.map((m) => m[1])]);
	const sums = await page.evaluate(() => {
		const s = { events: data.events.length + data.omitted.events, wall: 0, cpu: 0, parts: 0, gcs: data.gcs.length / G.size, pause: 0, freed: 0, calls: 0, lanes: 0 };
		for (const e of data.events) {
			s.wall += e[E.wall];
			s.cpu += e[E.cpu];
			s.parts += e[E.self] + e[E.gc] + e[E.blocked] + e[E.native] + e[E.other];
		}
		for (let i = 0; i < data.gcs.length; i += G.size) {
			s.pause += data.gcs[i + G.ns];
			s.freed += Math.max(0, data.gcs[i + G.before] - data.gcs[i + G.after]);
		}
		for (let i = 0; i < data.edges.length; i += 4)
			if (!["(gc)", "(blocked)"].includes(nameOf(data.edges[i + 1])))
				s.calls += data.edges[i + 2];
		for (const l of data.lanes)
			s.lanes += l.events;
		s.nested = data.events.filter((e) => e[E.parent]).length;
		s.dots = Number($("gc-chart").dataset.points);
		s.whole = !data.omitted.events && !data.chosen;
		return s;
	});
	is("turns in the timeline", sums.events + await page.evaluate(() => data.left_out), report.events.count);
	if (report.events.count < 4000 && !await page.evaluate(() => data.chosen))
		yes("nothing is left out of a small trace", sums.whole);
	if (sums.whole) {
		is("time of the turns", [sums.wall, sums.cpu], [report.events.wall_ns, report.events.cpu_ns]);
		is("the parts of every turn", sums.parts, report.ledger.event_wall_ns);
		is("turns by thread", sums.lanes, report.events.count - sums.nested);
	}
	is("collections", [sums.gcs, sums.dots, sums.freed], [report.gc.count, report.gc.count, report.gc.freed_bytes]);
	is("pauses", sums.pause, report.gc.total_ns);
	const sampled = report.source.method === "sampled";
	if (Object.values(report.losses).every((n) => !n) && !sampled && sums.whole)
		is("calls", sums.calls, report.spans);
	const nodes = await page.$$eval("#graph-box .node", (l) => l.map((n) => n.dataset.group).filter((n) => n !== "(event loop)").sort());
	if (await page.evaluate(() => !data.chosen))
		is("graph: groups", nodes, report.groups.filter((g) => (sampled ? g.samples : g.spans) && !/^(top|compartment):/.test(g.name)).map((g) => g.name).sort());
}

/* --group: every panel is about the chosen groups and who has to do with them. */
async function chosen() {
	await figures();
	const seen = await page.evaluate(() => ({
		glob: data.chosen, note: $("chosen").textContent, shown: data.events.length, out: data.left_out,
		/* Of the turns, those in which it is known to have run. */
		ran: data.events.filter((e) => (e[E.tree] || []).some((v, k) => k % N.size === N.group && nameOf(v) === data.chosen)).length,
		edges: Array.from({ length: data.edges.length / 4 }, (_, i) => [nameOf(data.edges[i * 4]), nameOf(data.edges[i * 4 + 1])]),
		callers: data.events.some((e) => (e[E.tree] || []).some((v, k) => k % N.size === N.group && nameOf(v) !== data.chosen)),
	}));
	is("chosen: every turn has it", [seen.ran, seen.shown], [report.groups[0].events, report.groups[0].events]);
	is("chosen: turns left out", seen.shown + seen.out, report.events.count);
	yes("chosen: the page says so", seen.note.includes(seen.glob) && seen.note.includes("left out"));
	yes("chosen: turns are whole", seen.callers);
	yes("chosen: there are callers", seen.edges.some(([from, to]) => to === seen.glob && from !== "(event loop)"));
	is("chosen: calls are its own", seen.edges.filter((e) => !e.includes(seen.glob)), []);
	is("chosen: cards", await page.$$eval("#cards li[data-group]", (l) => l.map((e) => e.dataset.group)), [seen.glob]);
}

async function timeline() {
	await page.focus("#lanes-canvas");
	await key("0");
	const whole = await view();
	await key("+");
	const near = await view();
	yes("+ zooms in", near[1] - near[0] < whole[1] - whole[0]);
	await key("ArrowRight");
	yes("right moves right", (await view())[0] > near[0]);
	await key("ArrowLeft");
	yes("left moves back", Math.abs((await view())[0] - near[0]) <= 2);
	await key("-");
	yes("- zooms out", (await view())[1] - (await view())[0] > near[1] - near[0]);
	await key("0");
	is("0 shows all", await view(), whole);
	const box = await (await page.$("#lanes-canvas")).boundingBox();
	await page.mouse.move(box.x + box.width / 2, box.y + 40);
	await page.keyboard.down("Control");
	await page.mouse.wheel(0, -240);
	await page.keyboard.up("Control");
	const wheeled = await view();
	yes("Ctrl and the wheel zoom", wheeled[1] - wheeled[0] < whole[1] - whole[0]);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width / 2 - 90, box.y + 40, { steps: 4 });
	await page.mouse.up();
	yes("dragging moves", (await view())[0] > wheeled[0]);
}

async function search() {
	const group = report.groups.find((g) => g.kind === "addon" && g.spans) || report.groups.find((g) => g.spans);
	const word = group.name.split(":")[1].slice(0, 20).toLowerCase();
	await page.focus("#search");
	await page.keyboard.type(word);
	const want = await page.evaluate((w) => data.events.filter((e) => {
		const has = (i) => data.names[i].toLowerCase().includes(w);
		return has(e[E.label]) || has(e[E.group]) || (e[E.tree] || []).some((v, k) => (k % N.size === N.name || k % N.size === N.group) && has(v));
	}).length, word);
	yes("search finds some", want > 0);
	is("search counts", parseInt((await text("#matches")).replace(/,/g, ""), 10), want);
	await key("Enter");
	const [wall, found] = await page.evaluate(() => [document.querySelector("#detail [data-key='event.wall']").dataset.value, data.events[T.selected][E.wall]]);
	is("Enter opens the first match", wall, String(found));
	const tree = await page.evaluate(() => ({ rows: document.querySelectorAll("#detail .tree tbody tr").length,
		spans: Math.min(300, (data.events[T.selected][E.tree] || []).length / N.size), hits: document.querySelectorAll("#detail tr.hit").length }));
	is("its tree has all its calls", tree.rows, tree.spans);
	yes("the match is marked in the tree", tree.hits > 0);
	await page.focus("#lanes-canvas");
	await key("n");
	is("n goes on", await page.evaluate(() => T.cursor), await page.evaluate(() => T.hitList[1 % T.hitList.length]));
	await key("p");
	is("p goes back", await page.evaluate(() => T.cursor), await page.evaluate(() => T.hitList[0]));
	await key("Escape");
	is("Escape closes", await text("#detail"), "");
	await page.$eval("#search", (e) => { e.value = ""; e.dispatchEvent(new Event("input")); });
	await page.focus("#lanes-canvas");
	await key("0");
	await view();
	const spot = await page.evaluate(() => {
		const i = data.events.reduce((best, e, k) => e[E.wall] > data.events[best][E.wall] ? k : best, 0), e = data.events[i];
		const lane = T.lanes[e[E.lane]], r = $("lanes-canvas").getBoundingClientRect();
		$("lanes-canvas").scrollIntoView({ block: "center" });
		const after = $("lanes-canvas").getBoundingClientRect();
		return { i, x: after.left + xAt(e[E.begin] + e[E.ns] / 2), y: after.top + lane.y + lane.title + 12 - $("lanes").scrollTop };
	});
	await page.mouse.click(spot.x, spot.y);
	is("a click opens the turn", await page.evaluate(() => T.selected), spot.i);
	await page.evaluate(() => showEvent(-1));
}

async function table() {
	const names = () => page.$$eval("#table tbody tr", (l) => l.map((r) => r.dataset.group));
	const by = (k) => [...report.groups].sort((a, b) => b[k] - a[k] || (a.name < b.name ? -1 : 1)).map((g) => g.name);
	is("sorted by own time", await names(), by("self_ns"));
	await page.click("th[data-sort=max_ns] button");
	is("a click sorts", await names(), by("max_ns"));
	await page.focus("th[data-sort=ticks] button");
	await key("Enter");
	is("Enter on a heading sorts", await names(), by("ticks"));
	is("and says so", await page.$eval("th[data-sort=ticks]", (e) => e.getAttribute("aria-sort")), "descending");
	await key("Enter");
	is("again: the other way", (await names())[0] !== by("ticks")[0] || by("ticks").length < 2, true);
	await page.focus("#filter");
	await page.keyboard.type("adb");
	is("filter", await names(), report.groups.filter((g) => g.name.includes("adb")).map((g) => g.name));
	await key("ArrowDown");
	const first = await page.evaluate(() => document.activeElement.dataset.group);
	is("down goes to the rows", first, (await names())[0]);
	await key("Enter");
	is("Enter on a row shows its events", await page.$eval("#search", (e) => e.value), first);
	await page.$eval("#filter", (e) => { e.value = ""; e.dispatchEvent(new Event("input")); });
	await page.$eval("#search", (e) => { e.value = ""; e.dispatchEvent(new Event("input")); });
	await page.evaluate(() => { showEvent(-1); fit(); });
}

async function graph() {
	await page.focus("#graph-box .node[data-group='addon:tracker']");
	await key("Enter");
	is("graph: Enter chooses", await text("#graph-side h4"), "addon:tracker");
	const link = await page.$eval("#graph-side a.docs", (a) => [a.href, a.rel]).catch(() => null);
	is("graph: documentation", link, ["https://example.org/tracker", "noopener noreferrer"]);
	is("graph: no link that was not given", await page.$$eval("a.docs", (l) => l.filter((a) => !a.href.startsWith("https://example.org/")).length), 0);
	const place = () => page.$eval("#graph-box .node[data-group='addon:tracker']", (n) => {
		const r = n.querySelector("circle").getBoundingClientRect();
		return [r.x, r.y];
	});
	await page.$eval("#graph-box", (e) => e.scrollIntoView({ block: "center" }));
	const [x, y] = await place();
	await page.mouse.move(x + 12, y + 8);
	await page.mouse.down();
	const middle = await page.$eval("#graph-box", (e) => e.getBoundingClientRect().y + e.clientHeight / 2);
	const step = y > middle ? -50 : 50;
	await page.mouse.move(x + 12, y + 8 + step, { steps: 5 });
	await page.mouse.up();
	yes("graph: a node can be dragged", ((await place())[1] - y) / step > 0.6);
	await page.click("#graph-side button");
	is("graph: click through to the spans", await page.$eval("#search", (e) => e.value), "addon:tracker");
	await page.$eval("#search", (e) => { e.value = ""; e.dispatchEvent(new Event("input")); });
	await page.evaluate(() => { showEvent(-1); fit(); });
}

async function looks() {
	await figures();
	await open(); /* as one sees it first */
	await page.evaluate(() => scrollTo(0, 0));
	await page.emulateMedia({ colorScheme: "light" });
	await shot("light");
	await page.$eval("#search", (e) => { e.value = "tracker"; e.dispatchEvent(new Event("input")); });
	await page.evaluate(() => {
		const longest = T.hitList.reduce((a, b) => data.events[b][E.wall] > data.events[a][E.wall] ? b : a);
		T.cursor = T.hitList[(T.hitList.indexOf(longest) + T.hitList.length - 1) % T.hitList.length];
		gotoMatch(1);
		$("timeline").scrollIntoView();
	});
	await view();
	await shot("turn", false);
	await page.$eval("#search", (e) => { e.value = ""; e.dispatchEvent(new Event("input")); });
	await page.evaluate(() => { showEvent(-1); fit(); scrollTo(0, 0); });
	const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	const light = await paper();
	await page.emulateMedia({ colorScheme: "dark" });
	const dark = await paper();
	yes("dark as the system is", light !== dark);
	await shot("dark");
	await page.focus("#theme");
	await key("Enter");
	is("the button: light", await paper(), light);
	await key("Enter");
	is("the button: dark", await paper(), dark);
	await key("Enter");
	await page.emulateMedia({ colorScheme: "light" });
	await open(390, 844);
	is("no sideways scrolling on a phone", await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
	await shot("phone");
}

const cases = {
	figures,
	chosen,
	looks,
	async use() {
		await figures();
		await timeline();
		await search();
		await table();
		await graph();
	},
	async hostile() {
		await figures();
		is("names add no element", await page.evaluate(() => [document.querySelectorAll("script").length, document.querySelectorAll("main b b, main td b, #cards b").length]), [4, 0]);
		is("names add no control character", await page.evaluate(() => /[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/.test(document.body.innerText)), false);
		yes("names are shown", (await text("#table")).includes("\"quoted\" <b>&\\ </script>"));
		await page.evaluate(() => gotoMatch(1));
		await page.evaluate(() => data.events.forEach((_, i) => showEvent(i)));
		await page.evaluate(() => showGroup(data.report.groups[1].name));
	},
	/* Smooth: what one frame costs, as the page itself sees it. */
	async load() {
		await figures();
		await page.focus("#lanes-canvas");
		const frames = await page.evaluate(() => {
			const list = [];
			for (let i = 0; i < 30; i++) {
				zoom(0.75);
				const begin = performance.now();
				drawTimeline();
				list.push(performance.now() - begin);
			}
			return list.sort((a, b) => a - b);
		});
		console.log(`# frames: median ${frames[15].toFixed(1)} ms, longest ${frames[29].toFixed(1)} ms`);
		yes("a frame is drawn in time", frames[15] < 100);
	},
	async live() {
		await open();
		await page.waitForFunction(() => Number(document.body.dataset.updates) >= 1);
		const first = await value("[data-key='events.count']");
		await page.waitForFunction((n) => Number(document.querySelector("[data-key='events.count']").dataset.value) > n, Number(first));
		yes("turns are added as they happen", true);
		is("the page says it is live", await text("#state"), "live");
		/* What is made anew keeps the focus of the keyboard. */
		const updated = () => page.evaluate(() => new Promise((done) => {
			const n = document.body.dataset.updates;
			new MutationObserver((_, o) => document.body.dataset.updates !== n && (o.disconnect(), done())).observe(document.body, { attributes: true });
		}));
		/* All of them: one that is no longer among the first three is gone. */
		await page.evaluate(() => $("cards-all") && $("cards-all").click());
		for (const where of ["#table tbody tr:nth-child(2)", "#graph-box .node:nth-child(2)", "#cards li:nth-child(1) button"]) {
			/* In one step: between two of them an update may make the element anew. */
			const before = await page.evaluate((w) => {
				document.querySelector(w).focus();
				return document.activeElement.closest("[data-group]").dataset.group;
			}, where);
			await updated();
			is(`updates keep the focus: ${where.split(" ")[0]}`, await page.evaluate(() => document.activeElement.closest("[data-group]")?.dataset.group), before);
		}
		await shot("live");
	},
};

for (let i = 0; i < visits.length; i += 3) {
	const [test, where, report_file] = visits.slice(i, i + 3);
	await turn_to(where, report_file);
	try {
		await cases[test]();
		is("no error on the console", errors, []);
		is("no request but for the page itself", requests.filter((r) => r !== url && !r.startsWith("data:") && !r.startsWith("blob:") && r !== url + "events"), []);
	} catch (e) {
		failed++;
		results++;
		console.log(`not ok ${label}: ${test} - ${String(e.stack).replace(/\n/g, " | ")} ${errors.join(" ")}`);
	}
	await page.close();
}
if (visits.filter((v) => v === "figures").length > 3) {
	label = "all";
	is("CPU time that is known, and estimates", [...estimates].sort(), [false, true]);
}
await browser.close();
console.log(`done ${results}`);
process.exitCode = failed ? 1 : 0;
