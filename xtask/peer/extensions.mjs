// Runs pi's example extensions in pi and in Osier: the same user, the same model. Reads `{pi, osier, dir, examples, terminal, only, keep}` from
// standard input and prints `[{example, runsOnPi, loads, differences, inNode}]`. `loads` is about Osier, and `inNode` says why it runs an example in Node.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { configureOsier, configurePi } from "./configure.mjs";
import { normalize } from "./extension_normalize.mjs";
import { runRpc } from "./extension_program.mjs";
import { RUNS } from "./extension_runs.mjs";
import { compareScreens } from "./extension_screens.mjs";

const job = JSON.parse(readFileSync(0, "utf8"));
const AT_ONCE = job.atOnce ?? 2;
const extensions = join(job.dir, "extensions");
cpSync(job.examples, extensions, { recursive: true });

const PROGRAMS = {
	pi: { name: "pi", command: job.pi, configure: configurePi, agentDir: "", configDir: ".pi", extensions },
	osier: { name: "osier", command: job.osier, configure: configureOsier, agentDir: "extension-data", configDir: ".osier", extensions },
};

const examples = readdirSync(extensions).filter((name) => name !== "README.md" && (!job.only || job.only.includes(name)));
const entries = Object.fromEntries(examples.map((example) => [example, entryOf(example)]));
const reasons = reasonsForNode(Object.values(entries));
const baselines = Object.fromEntries(await Promise.all(Object.values(PROGRAMS).map(async (program) => [program.name, await runRpc(program, join(job.dir, "baseline", program.name), undefined, {})])));
const results = [];
await Promise.all(Array.from({ length: AT_ONCE }, worker));
process.stdout.write(JSON.stringify(results.sort((a, b) => a.example.localeCompare(b.example))));

async function worker() {
	for (let example = examples.shift(); example; example = examples.shift()) {
		const result = await compare(example);
		results.push({ ...result, inNode: reasons[entries[example]] });
		process.stderr.write(`${result.runsOnPi ? (result.differences.length ? "DIFFERS" : "agrees ") : "not on pi"} ${example}\n`);
	}
}

async function compare(example) {
	const run = RUNS[example];
	if (!run) return { example, runsOnPi: true, differences: [{ where: "extension_runs.mjs", pi: "an example", osier: "no run" }] };
	const entry = entries[example];
	const [pi, osier] = await Promise.all(Object.values(PROGRAMS).map((program) => observe(program, example, entry, run)));
	if (pi.failed) return { example, runsOnPi: false, loads: !osier.failed, reason: pi.reason, differences: [] };
	const differences = differencesOf(pi, osier);
	if (run.keys && job.terminal) differences.push(...(await compareScreens(PROGRAMS, join(job.dir, "screens", example), entry, run, job.terminal)));
	return { example, runsOnPi: true, loads: !osier.failed, differences };
}

/** The file to load. Dependencies are installed once. */
function entryOf(example) {
	const path = join(extensions, example);
	const manifest = join(path, "package.json");
	if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).dependencies) {
		try {
			execFileSync("npm", ["install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: path, stdio: "ignore" });
		} catch {
			// The program says what is missing.
		}
	}
	return example.endsWith(".ts") ? path : join(path, "index.ts");
}

/** Which entry files Osier runs in Node, and the code that forces it. */
function reasonsForNode(files) {
	const home = join(job.dir, "engines");
	mkdirSync(home, { recursive: true });
	writeFileSync(join(home, "config.toml"), `extensions = ${JSON.stringify(files)}\n`);
	const listed = execFileSync(job.osier[0], ["extensions", "list", "--json"], { cwd: home, env: { ...process.env, OSIER_HOME: home } });
	return Object.fromEntries(JSON.parse(listed).extensions.flatMap(({ path, needs }) => (needs?.node ? [[path, needs.node]] : [])));
}

async function observe(program, example, entry, run) {
	const dir = join(job.dir, "runs", example, program.name);
	mkdirSync(dir, { recursive: true });
	const raw = await runRpc(program, dir, entry, run);
	writeFileSync(join(dir, "raw.json"), JSON.stringify(raw, null, 1));
	if (raw.failed) return { failed: true, reason: raw.failed };
	return normalize(raw, baselines[program.name], program);
}

/** The first difference of each part. */
function differencesOf(pi, osier) {
	if (osier.failed) return [{ where: "start", pi: "runs", osier: osier.reason }];
	return Object.keys(pi).flatMap((part) => {
		const found = difference(pi[part], osier[part], part);
		return found ? [found] : [];
	});
}

function difference(a, b, where) {
	if (JSON.stringify(a) === JSON.stringify(b)) return undefined;
	const nested = (value) => value !== null && typeof value === "object";
	if (!nested(a) || !nested(b) || Array.isArray(a) !== Array.isArray(b)) return { where, pi: a, osier: b };
	for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
		const found = difference(a[key], b[key], `${where}.${key}`);
		if (found) return found;
	}
	return undefined;
}
