// Deliberate damage, like that of other programs, crashes and editors. Never makes a cycle,
// because pi loops forever on one.
import { freshId, text } from "./random.mjs";

const parse = (line) => {
	try {
		const value = JSON.parse(line);
		return value !== null && typeof value === "object" ? value : undefined;
	} catch {
		return undefined;
	}
};
const isEntry = (value) => value !== undefined && value.type !== "session" && typeof value.id === "string";
const entriesOf = (lines) => lines.map(parse).filter(isEntry);
const placesOf = (lines) => lines.flatMap((line, i) => (isEntry(parse(line)) ? [i] : []));

function change(lines, r, edit) {
	const at = r.pick(placesOf(lines));
	if (at === undefined) return;
	const entry = parse(lines[at]);
	edit(entry);
	lines[at] = JSON.stringify(entry);
}

const headerPlace = (lines) => lines.findIndex((line) => parse(line)?.type === "session");

// Only junk may come before the header; pi rejects the file otherwise.
function insert(lines, r, line, from = headerPlace(lines) + 1) {
	lines.splice(from + r.below(lines.length - from + 1), 0, line);
}

const someId = (lines, r) => r.pick(entriesOf(lines))?.id ?? null;
const stamp = () => new Date().toISOString();

function strangeEntry(lines, r, more) {
	insert(lines, r, JSON.stringify({ ...more, id: freshId(r), parentId: someId(lines, r), timestamp: stamp() }));
	if (r.chance(0.5)) belowTheLast(lines, r, more);
}

// At the very end, so that it is the leaf and its path is compared.
function belowTheLast(lines, r, more) {
	const parentId = entriesOf(lines).at(-1)?.id ?? null;
	lines.push(JSON.stringify({ ...more, id: freshId(r), parentId, timestamp: stamp() }));
}

function sayUnder(lines, r, message) {
	belowTheLast(lines, r, { type: "message", message: { ...message, timestamp: Date.now() } });
}

function duplicate(lines, r) {
	const entry = r.pick(entriesOf(lines));
	if (!entry) return;
	if (r.chance(0.5)) entry.parentId = someId(lines, r);
	if (r.chance(0.5) && entry.type === "message") entry.message = { role: "user", content: text(r), timestamp: Date.now() };
	insert(lines, r, JSON.stringify(entry));
}

function laterParent(lines, r) {
	const at = r.pick(placesOf(lines));
	if (at === undefined) return;
	const [line] = lines.splice(at, 1);
	lines.splice(at + r.below(lines.length - at + 1), 0, line);
}

function emptyContent(lines, r) {
	const role = r.pick(["user", "assistant", "toolResult", "system"]);
	const more = role === "assistant" ? { provider: "p", model: "m", stopReason: "stop" } : {};
	sayUnder(lines, r, { role, ...more, ...(r.chance(0.5) ? { content: null } : {}) });
}

function tear(lines, r) {
	const line = lines[r.pick(placesOf(lines)) ?? 0].trimEnd(); // a proper prefix of an object is never valid JSON
	insert(lines, r, line.slice(0, 1 + r.below(Math.min(line.length - 1, 400))), 0);
}

function shuffleKeys(entry, r) {
	for (const key of Object.keys(entry).sort(() => r.below(3) - 1)) {
		const value = entry[key];
		delete entry[key];
		entry[key] = value;
	}
}

const LINE_DAMAGE = {
	orphan: (lines, r) => change(lines, r, (e) => (e.parentId = freshId(r))),
	noParentKey: (lines, r) => change(lines, r, (e) => delete e.parentId),
	secondRoot: (lines, r) => change(lines, r, (e) => (e.parentId = null)),
	laterParent,
	duplicate,
	unknownKind: (lines, r) => strangeEntry(lines, r, { type: "hologram", payload: { id: "inner", parentId: null }, summary: text(r) }),
	unknownRole: (lines, r) => sayUnder(lines, r, { role: "narrator", content: text(r), extra: { role: "user" } }),
	unknownField: (lines, r) => change(lines, r, (e) => (e.later = { type: "label", targetId: "inner" })),
	emptyContent,
	noKeptId: (lines, r) => belowTheLast(lines, r, { type: "compaction", summary: text(r), tokensBefore: 1 }),
	ownKeptId: (lines, r) => {
		const id = freshId(r);
		lines.push(JSON.stringify({ type: "compaction", id, parentId: someId(lines, r), timestamp: stamp(), summary: text(r), firstKeptEntryId: id, tokensBefore: 5 }));
	},
	danglingLabel: (lines, r) => strangeEntry(lines, r, { type: "label", targetId: freshId(r), label: "lost" }),
	extraHeader: (lines, r) => insert(lines, r, r.chance(0.5) ? lines[headerPlace(lines)] : JSON.stringify({ type: "session", version: 3, id: "other", timestamp: stamp(), cwd: "/else" })),
	nothingLine: (lines, r) => insert(lines, r, r.pick(["null", "false", "0", '""'])),
	blankLine: (lines, r) => insert(lines, r, r.pick(["", "   ", "\t"]), 0),
	tornLine: tear,
	keyOrder: (lines, r) => change(lines, r, (e) => shuffleKeys(e, r)),
	spacedJson: (lines, r) => {
		const at = r.pick(placesOf(lines));
		if (at !== undefined) lines[at] = JSON.stringify(parse(lines[at]), null, 1).replaceAll("\n", " ");
	},
	carriageReturn: (lines, r) => {
		const at = r.below(lines.length);
		lines[at] += "\r";
	},
};

// Every line counts, not only the last one of an id: pi's tree puts a node below the parent of each of its lines.
function hasCycle(lines) {
	const parents = new Map();
	for (const { id, parentId } of entriesOf(lines)) {
		if (!parents.has(id)) parents.set(id, new Set());
		parents.get(id).add(parentId);
	}
	const done = new Set();
	const open = new Set();
	const visit = (id) => {
		if (done.has(id) || !parents.has(id)) return false;
		if (open.has(id)) return true;
		open.add(id);
		for (const parent of parents.get(id)) if (visit(parent)) return true;
		open.delete(id);
		done.add(id);
		return false;
	};
	return [...parents.keys()].some(visit);
}

/** Damages a file's text in one to five ways; returns the new bytes and the names of the damage. */
export function damaged(source, r) {
	let lines = source.split("\n").slice(0, -1);
	const done = [];
	for (let i = 1 + r.below(5); i > 0; i--) {
		const name = r.pick(Object.keys(LINE_DAMAGE));
		const trial = [...lines];
		LINE_DAMAGE[name](trial, r);
		if (hasCycle(trial)) continue;
		lines = trial;
		done.push(name);
	}
	const whole = Buffer.from(`${lines.join("\n")}\n`);
	const tail = r.weighted([[6, "whole"], [2, "noFinalLf"], [2, "tornTail"]]);
	if (tail === "whole") return { bytes: whole, done };
	return { bytes: tail === "noFinalLf" ? whole.subarray(0, -1) : tornTail(whole, r), done: [...done, tail] };
}

// Cut by bytes, so that the cut may split a character.
function tornTail(whole, r) {
	const start = whole.lastIndexOf(10, whole.length - 2) + 1;
	const length = whole.length - 1 - start;
	return length < 2 ? whole : whole.subarray(0, start + 1 + r.below(length - 1));
}
