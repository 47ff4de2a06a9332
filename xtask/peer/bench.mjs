// Measures one job of the real pi in its own process. Prints {cpuMs, result}: the least CPU time (user and
// system) of one operation inside the process, without starting Node and loading pi.
//   node bench.mjs --module BUNDLE context|path|outline --file FILE [--iterations N]
//   node bench.mjs --module BUNDLE append --file FILE --count N --bytes LINE_LENGTH
//   node bench.mjs --module BUNDLE list|continue --cwd DIR --dir SESSIONS [--iterations N]
import { loadPi, readArguments } from "./pi.mjs";

const { options, rest } = readArguments(process.argv.slice(2));
const { SessionManager } = await loadPi(options.module);
const { file, cwd, dir } = options;

const JOBS = {
	context: () => SessionManager.open(file).buildSessionContext().messages.length,
	path: () => SessionManager.open(file).getBranch().length,
	outline: () => SessionManager.open(file).getTree().length,
	list: async () => (await SessionManager.list(cwd, dir)).length,
	continue: () => SessionManager.continueRecent(cwd, dir).getEntries().length,
};

const cpuMs = () => {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1000;
};

async function least(job) {
	let best = Number.POSITIVE_INFINITY;
	let result;
	for (let i = 0; i < Number(options.iterations ?? 1); i++) {
		const before = cpuMs();
		result = await job();
		best = Math.min(best, cpuMs() - before);
	}
	return { cpuMs: best, result };
}

// Times only the appends, not the opening.
function append(count, bytes) {
	const sm = SessionManager.open(file);
	const text = "x".repeat(Math.max(1, bytes - 186)); // the rest of pi's line around the text
	const before = cpuMs();
	for (let i = 0; i < count; i++) sm.appendMessage({ role: "user", content: [{ type: "text", text }], timestamp: Date.now() });
	return { cpuMs: cpuMs() - before, result: count };
}

const job = rest[0];
if (job !== "append" && !JOBS[job]) {
	console.error(`bench.mjs: unknown job ${job}`);
	process.exit(2);
}
console.log(JSON.stringify(job === "append" ? append(Number(options.count), Number(options.bytes)) : await least(JOBS[job])));
