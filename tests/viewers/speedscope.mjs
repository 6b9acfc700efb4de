// SPDX-License-Identifier: BSD-2-Clause
// Opens profiles in speedscope, in headless Chromium, and looks at its table of
// frames.
//   node speedscope.mjs PLAYWRIGHT CHROMIUM SPEEDSCOPE SCRATCH <CHECKS
// CHECKS has a line of JSON each:
//   name     what is checked
//   file     the profile
//   title    that of the page once it is loaded; none: the profile is refused
//   rows     [total, self, frame] of the table, in any order; none: not looked at
//   frames   only rows whose frame matches this are compared, without their total
// Waits until the page shows what is expected; what it shows after ten minutes
// instead is the failure. Prints ok and not ok lines, and their number.
import { pathToFileURL } from "node:url";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const [library, executablePath, speedscope, scratch] = process.argv.slice(2);
const { chromium: browsers } = await import(pathToFileURL(library).href);
const checks = readFileSync(0, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
const patience = 600000;
let failed = 0;

// Runs in the page. A row is "12.00µs (34%)", "5.00µs (<1%)", "name"; rows without
// percents are the list of threads.
function shown(frames) {
	const share = / \(<?[0-9.]+%\)$/, time = (text) => text.replace(share, "");
	const rows = [...document.querySelectorAll("table tr")].map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent))
		.filter((cells) => cells.length === 3 && share.test(cells[0]) && (!frames || new RegExp(frames).test(cells[2])))
		.map(([total, self, frame]) => (frames ? [time(self), frame] : [time(total), time(self), frame]).join("\t"));
	return { title: document.title, rows: rows.sort(), refused: document.body.textContent.includes("Something went wrong") };
}

// speedscope takes a profile from a script beside it where there is no server.
function profileScript(file) {
	const script = join(scratch, "profile.js");
	writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, "${readFileSync(file).toString("base64")}")\n`);
	return script;
}

async function look(browser, { name, file, title, rows, frames }) {
	const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
	const want = rows?.map((row) => row.join("\t")).sort();
	const good = (now) => (title ? now.title === title : now.refused) && (!want || JSON.stringify(now.rows) === JSON.stringify(want));
	await page.goto(`${pathToFileURL(speedscope)}#localProfilePath=${profileScript(file)}&view=sandwich`, { waitUntil: "commit", timeout: patience });
	let now;
	for (const end = performance.now() + patience; ; await page.waitForTimeout(50)) {
		now = await page.evaluate(shown, frames);
		if (good(now) || performance.now() > end)
			break;
	}
	failed += !good(now);
	console.log(good(now) ? `ok ${name}` : `not ok ${name} - got ${JSON.stringify(now)}, expected ${JSON.stringify({ title, want })}`);
	await page.close();
}

process.on("uncaughtException", (e) => {
	console.error(e);
	process.exit(2);
});
const browser = await browsers.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--in-process-gpu", "--renderer-process-limit=1"] });
for (const check of checks)
	await look(browser, check);
await browser.close();
console.log(`done ${checks.length}`);
process.exit(failed ? 1 : 0);
