// Lets the real pi write random sessions, damages some of them, and stores what pi sees next to each.
//   node write.mjs --module BUNDLE --out DIR --sessions N --seed S
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { damaged } from "./damage.mjs";
import { loadPi, readArguments, seenByPi, tameWorld } from "./pi.mjs";
import { dice, freshId, live, speakOnce } from "./random.mjs";

const { options } = readArguments(process.argv.slice(2));
const seed = Number(options.seed ?? 1);
tameWorld(seed);
const pi = await loadPi(options.module);
mkdirSync(options.out, { recursive: true });

for (let n = 0; n < Number(options.sessions ?? 300); n++) {
	const r = dice(seed * 1_000_003 + n);
	const file = join(options.out, `${String(n).padStart(4, "0")}.jsonl`);
	writeOne(file, r);
	const done = r.chance(0.5) ? damageFile(file, r) : [];
	const seen = seenByPi(pi, file, r.chance(0.4) ? someIds(file, r) : []);
	writeFileSync(`${file}.pi.json`, JSON.stringify({ damage: done, ...seen }));
}

function writeOne(file, r) {
	const cwd = r.pick(["/home/dev/project", "/home/dev/über projekt", "/srv/汉字"]);
	const id = `${freshId(r)}-0000-4000-8000-${freshId(r)}0000`;
	const sm = pi.SessionManager.create(cwd, join(options.out, "new"), { id, ...(r.chance(0.1) ? { parentSession: "/home/dev/parent.jsonl" } : {}) });
	live(sm, r, r.weighted([[1, 0], [3, r.below(6)], [6, 6 + r.below(40)]]));
	speakOnce(sm, r);
	renameSync(sm.getSessionFile(), file);
}

function damageFile(file, r) {
	const { bytes, done } = damaged(readFileSync(file, "utf8"), r);
	writeFileSync(file, bytes);
	return done;
}

function someIds(file, r) {
	const ids = [];
	for (const line of readFileSync(file, "utf8").split("\n")) {
		const id = /"id":"([0-9a-f]{8})"/.exec(line)?.[1];
		if (id) ids.push(id);
	}
	return ids.length === 0 ? [] : [r.pick(ids), r.pick(ids), r.pick(ids)];
}
