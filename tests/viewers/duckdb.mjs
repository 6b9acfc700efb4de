// SPDX-License-Identifier: BSD-2-Clause
// Runs the SQL of standard input on a DuckDB database: node duckdb.mjs MODULE FILE
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const [module, file] = process.argv.slice(2);
const duckdb = createRequire(import.meta.url)(module);
const connection = await duckdb.connect(await duckdb.open(file));
try {
	await duckdb.query(connection, readFileSync(0, 'utf8'));
} catch (error) {
	console.error(error.message);
	process.exitCode = 1;
}
duckdb.disconnect_sync(connection);
