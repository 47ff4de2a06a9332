// Loads the real pi and reports what it sees in a session file. Changes neither pi nor the file.
import { createHash, randomBytes } from "node:crypto";
import crypto from "node:crypto";
import { copyFileSync, rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** Splits `--name value` options from the other arguments. */
export function readArguments(argv) {
	const options = {};
	const rest = [];
	for (let i = 0; i < argv.length; i++) {
		if (argv[i].startsWith("--")) options[argv[i].slice(2)] = argv[++i];
		else rest.push(argv[i]);
	}
	return { options, rest };
}

/**
 * Derives ids and times from `seed`, so that a failing session can be reproduced.
 * Must run before pi is loaded. Times repeat and sometimes go back, like real clocks.
 */
export function tameWorld(seed) {
	let count = 0;
	const bytes = () => createHash("sha256").update(`${seed}/${count++}`).digest();
	crypto.randomUUID = () => {
		const hex = bytes().toString("hex");
		return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
	};
	syncBuiltinESMExports();

	const RealDate = Date;
	let now = RealDate.UTC(2026, 0, 2, 3, 4, 5);
	const tick = () => {
		const [a, b] = bytes();
		if (a < 60) return now;
		now += a < 250 ? b : -2000;
		return now;
	};
	globalThis.Date = class extends RealDate {
		constructor(...given) {
			if (given.length === 0) super(tick());
			else super(...given);
		}
		static now() {
			return tick();
		}
	};
}

export async function loadPi(module) {
	if (!module) throw new Error("--module PATH is required: the path of pi's bundle");
	return import(pathToFileURL(resolve(module)).href);
}

/** pi's view of a session, from a copy of the file (opening may add a line feed). */
export function seenByPi(pi, file, elsewhere = []) {
	const copy = `${file}.${randomBytes(4).toString("hex")}.copy`;
	copyFileSync(file, copy);
	try {
		return describe(pi, pi.SessionManager.open(copy), elsewhere);
	} finally {
		rmSync(copy, { force: true });
	}
}

export function describe(pi, sm, elsewhere = []) {
	const entries = sm.getEntries();
	const labels = {};
	for (const { id } of entries) if (sm.getLabel(id) !== undefined) labels[id] = sm.getLabel(id);
	return {
		leafId: sm.getLeafId(),
		path: sm.getBranch().map((entry) => entry.id),
		tree: treeRows(sm.getTree(), entries),
		labels,
		name: sm.getSessionName() ?? null,
		context: sm.buildSessionContext(),
		// For an id that damage removed, pi uses its last entry; Osier reports an unknown entry.
		at: elsewhere.filter((id) => sm.getEntry(id) !== undefined).map((id) => ({
			id,
			path: sm.getBranch(id).map((entry) => entry.id),
			context: pi.buildSessionContext(entries, id),
		})),
	};
}

/**
 * The tree as rows in display order. If an id is on several lines, pi puts its last node below the
 * parent of each line; here it stays only where its last line puts it.
 */
function treeRows(roots, entries) {
	const known = new Set(entries.map((entry) => entry.id));
	const home = new Map();
	for (const entry of entries) home.set(entry.id, known.has(entry.parentId) ? entry.parentId : null);
	const rows = [];
	const stack = [];
	const push = (nodes, parent, depth) => {
		const mine = new Map();
		for (const node of nodes) {
			if (home.get(node.entry.id) !== parent) continue;
			mine.delete(node.entry.id); // the last of several equal ids counts
			mine.set(node.entry.id, node);
		}
		for (const node of [...mine.values()].reverse()) stack.push({ node, depth });
	};
	push(roots, null, 0);
	while (stack.length > 0) {
		const { node, depth } = stack.pop();
		const { label, labelTimestamp } = node;
		rows.push({ id: node.entry.id, depth, label, labelTimestamp });
		push(node.children, node.entry.id, depth + 1);
	}
	return rows;
}
