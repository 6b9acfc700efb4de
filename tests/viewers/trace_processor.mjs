// SPDX-License-Identifier: BSD-2-Clause
// Runs SQL over traces in Perfetto's trace processor.
//   node trace_processor.mjs FOLDER
// FOLDER holds engine_bundle.node.js, engine.mjs and trace_processor.wasm.
// Each line of the input is a JSON array, the name of a trace and queries. Prints a line for each
// query, its rows as a JSON array of objects, and behind those of a trace `ready`. Ends with
// status 1, having said why, at the first that fails.
import { readFileSync, openSync, readSync, closeSync } from "node:fs";
import { createInterface } from "node:readline";
import { MessageChannel } from "node:worker_threads";
import { pathToFileURL } from "node:url";
import { join, resolve } from "node:path";

const folder = process.argv[2];

// The bundle is made for a web worker, and reads its module as one would.
globalThis.self = { location: { href: "http://localhost/engine.js" } };
globalThis.WorkerGlobalScope = Object;
globalThis.XMLHttpRequest = class {
	open(method, url) {
		this.url = url;
	}
	send() {
		this.response = readFileSync(join(folder, this.url.split("/").pop()));
	}
};
// There is only the module for 32-bit memory. What asks for the other kind is a
// program of one section, a memory with the flag 4.
const Module = WebAssembly.Module;
WebAssembly.Module = function (bytes) {
	if (bytes[8] === 5 && bytes[11] === 4)
		throw new Error("32-bit memory only");
	return new Module(bytes);
};

const worker = globalThis.self;
new Function(readFileSync(join(folder, "engine_bundle.node.js"), "utf8"))();
const { EngineBase } = await import(pathToFileURL(resolve(folder, "engine.mjs")).href);

class Engine extends EngineBase {
	id = "test";
	mode = "WASM";
	constructor(port) {
		super();
		this.port = port;
		port.on("message", (data) => this.onRpcResponseBytes(data));
	}
	rpcSendRequestBytes(data) {
		this.port.postMessage(data);
	}
	[Symbol.dispose]() {
		this.port.close();
	}
}

const channel = new MessageChannel();
worker.onmessage({ data: channel.port1 });
const engine = new Engine(channel.port2);
const piece = new Uint8Array(16 << 20);

async function load(trace) {
	const fd = openSync(trace, "r");
	await engine.resetTraceProcessor({});
	for (let n; (n = readSync(fd, piece)) > 0; )
		await engine.parse(piece.slice(0, n));
	closeSync(fd);
	await engine.notifyEof();
}

async function rows(sql) {
	const result = await engine.query(sql);
	const columns = result.columns();
	const all = [];
	for (const it = result.iter({}); it.valid(); it.next())
		all.push(Object.fromEntries(columns.map((c) => [c, it.get(c)])));
	return JSON.stringify(all, (k, v) => (typeof v === "bigint" ? Number(v) : v));
}

for await (const line of createInterface({ input: process.stdin })) {
	const [trace, ...queries] = JSON.parse(line);
	try {
		await load(trace);
		for (const sql of queries)
			console.log(await rows(sql));
	} catch (e) {
		console.error(`${trace}: ${e.message}`);
		process.exit(1);
	}
	console.log("ready");
}
process.exit(0);
