// SPDX-License-Identifier: BSD-2-Clause
// One viewer's pictures, for tools/pictures: node pictures.mjs VIEWER WHERE FILE TO
// VIEWER: page (WHERE is the page), perfetto or firefox (WHERE is its folder or URL).
import { createServer } from "node:http";
import { existsSync, readFileSync, statSync } from "node:fs";
import { extname, join, normalize, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [viewer, where, file, to] = process.argv.slice(2);
const { PLAYWRIGHT, CHROMIUM } = process.env;
const { chromium } = await import(pathToFileURL(PLAYWRIGHT).href);
const SIZE = { width: 1280, height: 860 };
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm",
	".png": "image/png", ".woff2": "font/woff2", ".ftl": "text/plain" };

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--no-first-run"] });
const page = await browser.newPage({ viewport: SIZE });

const shot = async (name, options) => {
	const path = join(to, `${name}.png`);
	await page.screenshot({ path, ...options });
	console.log(path);
};

/* What a viewer of one page needs: its files, and the trace beside them. */
function serve(folder, index) {
	const root = resolve(folder);
	const server = createServer((request, response) => {
		const path = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname));
		let name = path === "/trace" ? resolve(file) : join(root, path);
		if (path !== "/trace" && (path === "/" || !existsSync(name) || !statSync(name).isFile())) {
			if (typeof index !== "function")
				name = join(root, index);
			else if (path === "/")
				return response.writeHead(200, { "content-type": "text/html" }).end(index(server.address().port));
			else
				return response.writeHead(404).end();
		}
		response.writeHead(200, { "content-type": TYPES[extname(name)] || "application/octet-stream" }).end(readFileSync(name));
	});
	return new Promise((done) => server.listen(0, "127.0.0.1", () => done([server, `http://127.0.0.1:${server.address().port}/`])));
}

/* After two frames in a row everything that was asked for is drawn. */
const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

async function pictures_page() {
	await page.emulateMedia({ colorScheme: "light" });
	await page.goto(pathToFileURL(resolve(where)).href);
	await page.waitForFunction(() => / - ready$/.test(document.title));
	const part = (first, last) => page.evaluate(([a, b]) => {
		const box = (id) => document.getElementById(id).getBoundingClientRect();
		return { x: 0, y: Math.max(0, box(a).top + scrollY - 12), width: innerWidth, height: box(b).bottom - box(a).top + 24 };
	}, [first, last]);
	const first = await part("summary", "timeline");
	await shot("page", { clip: { ...first, y: 0, height: first.height + first.y }, fullPage: true });
	await page.focus("#graph-box .node[data-group='addon:tracker']");
	await page.keyboard.press("Enter");
	await shot("page-calls", { clip: await part("graph", "graph"), fullPage: true });
	await page.emulateMedia({ colorScheme: "dark" });
	await page.evaluate(() => {
		const longest = data.events.reduce((best, e, i) => e[E.wall] > data.events[best][E.wall] ? i : best, 0);
		T.cursor = longest - 1;
		gotoMatch(1);
		const e = data.events[longest];
		setView(e[E.begin] - e[E.ns] * 2, e[E.begin] + e[E.ns] * 3);
	});
	await drawn();
	await shot("page-turn", { clip: await part("timeline", "timeline"), fullPage: true });
}

async function pictures_perfetto() {
	const [server, url] = await serve(where, (port) => `<!doctype html><meta charset="utf-8"><title>Perfetto</title>
		<style>:root { --track-shell-width: 170px !important }
		.track-shell { font: 12px sans-serif; padding: 4px 8px; white-space: nowrap; overflow: hidden }</style>
		<div id="timeline_data_source" hidden>http://127.0.0.1:${port}/trace</div><div id="timeline_main"></div>
		<script src="/frontend_bundle.js"></script>`);
	await page.goto(`${url}#!/viewer`);
	/* Nothing is asked for or loading, in some frames in a row. */
	const settled = () => page.evaluate(() => new Promise((done) => {
		let calm = 0;
		const look = () => {
			const box = document.querySelector("input");
			calm = box?.placeholder === "Search" && document.querySelector(".track") && !globals.numQueuedQueries ? calm + 1 : 0;
			calm < 90 ? requestAnimationFrame(look) : done();
		};
		look();
	}));
	await settled();
	/* This build leaves out the titles that it knows of its tracks. */
	await page.evaluate(() => {
		for (const track of document.querySelectorAll(".track")) {
			const state = globals.state.tracks[track.id.replace(/^track_/, "")];
			const shell = track.querySelector(".track-shell");
			if (state && shell)
				shell.textContent = state.name;
		}
	});
	await settled();
	await shot("perfetto");
	server.close();
}

async function pictures_firefox() {
	const remote = /^https?:/.test(where);
	const [server, url] = remote ? [null, where.replace(/\/*$/, "/")] : await serve(where, "index.html");
	const trace = `${url}trace`;
	if (remote)
		await page.route(trace, (route) => route.fulfill({ path: file, contentType: "application/json" }));
	await page.goto(`${url}from-url/${encodeURIComponent(trace)}/marker-chart/`);
	await page.waitForSelector(".chartViewport canvas, .markerChart canvas", { timeout: 60000 });
	await page.waitForLoadState("networkidle");
	await drawn();
	await shot("firefox");
	server?.close();
}

try {
	await { page: pictures_page, perfetto: pictures_perfetto, firefox: pictures_firefox }[viewer]();
} catch (e) {
	console.error(`pictures: ${viewer}: ${e.message}`);
	process.exitCode = 1;
}
await browser.close();
