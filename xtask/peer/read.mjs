// How pi reads sessions that Osier wrote. Takes a JSON list of jobs on stdin, prints a list of answers on stdout.
//   node read.mjs --module BUNDLE see     [{file}]                  what pi sees
//   node read.mjs --module BUNDLE continue [{file, seed, count}]    pi makes `count` random changes; then what it sees
//   node read.mjs --module BUNDLE fork    [{file, entry, dir}]      the lines of pi's fork at `entry`, or null
//   node read.mjs --module BUNDLE prepare {dir, seed, files}        what pi would summarize (one job, one answer)
//   node read.mjs --module BUNDLE hammer  [{file, count}]           appends without a lock, an id per line on stdout
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { loadPi, readArguments, seenByPi } from "./pi.mjs";
import { prepare } from "./prepare.mjs";
import { dice, live } from "./random.mjs";

const { options, rest } = readArguments(process.argv.slice(2));
const pi = await loadPi(options.module);
const jobs = JSON.parse(readFileSync(0, "utf8"));

const see = ({ file }) => seenByPi(pi, file);

function goOn({ file, seed, count }) {
	const sm = pi.SessionManager.open(file);
	live(sm, dice(seed), count);
	// pi does not store a bare move, so compare what it sees after opening the file again.
	return seenByPi(pi, file);
}

function fork({ file, entry, dir }) {
	const sm = pi.SessionManager.open(file, dir);
	const made = sm.createBranchedSession(entry);
	if (!existsSync(made)) return null;
	return readFileSync(made, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

async function hammer({ file, count }) {
	const sm = pi.SessionManager.open(file);
	for (let i = 0; i < count; i++) {
		const id = sm.appendMessage({ role: "user", content: [{ type: "text", text: `pi ${i} ${"x".repeat((i * 37) % 3000)}` }], timestamp: Date.now() });
		process.stdout.write(`${id}\n`);
		await sleep(i % 5);
	}
}

const WORK = { see, continue: goOn, fork };
if (rest[0] === "hammer") {
	for (const job of jobs) await hammer(job);
} else if (rest[0] === "prepare") {
	const answer = JSON.stringify(await prepare(pi, jobs));
	process.stdout.write(answer, () => process.exit(0)); // an agent's timers would keep the process alive
} else if (WORK[rest[0]]) {
	process.stdout.write(JSON.stringify(jobs.map(WORK[rest[0]])));
} else {
	console.error("read.mjs: expected see, continue, fork, prepare or hammer");
	process.exit(2);
}
