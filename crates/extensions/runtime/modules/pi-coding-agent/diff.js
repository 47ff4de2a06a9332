// Differences of two texts, line by line.

const linesOf = (text) => {
	const lines = text.split("\n");
	if (lines.at(-1) === "") lines.pop();
	return lines;
};

/** Beyond this many pairs of lines, the middle of two texts counts as replaced. */
const MAX_PAIRS = 4_000_000;

/** The steps from one list to the other: `[kind, line]` with the kinds " ", "-" and "+". */
function compare(before, after) {
	let start = 0;
	while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
	let end = 0;
	while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
	const [left, right] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
	const kept = (lines) => lines.map((line) => [" ", line]);
	return [...kept(before.slice(0, start)), ...compareMiddle(left, right), ...kept(before.slice(before.length - end))];
}

/** The longest common sequence of lines stays. */
function compareMiddle(left, right) {
	if (left.length * right.length > MAX_PAIRS) return [...left.map((line) => ["-", line]), ...right.map((line) => ["+", line])];
	const width = right.length + 1;
	const lengths = new Uint32Array((left.length + 1) * width);
	for (let a = left.length - 1; a >= 0; a -= 1) {
		for (let b = right.length - 1; b >= 0; b -= 1) {
			lengths[a * width + b] = left[a] === right[b] ? lengths[(a + 1) * width + b + 1] + 1 : Math.max(lengths[(a + 1) * width + b], lengths[a * width + b + 1]);
		}
	}
	const steps = [];
	let [a, b] = [0, 0];
	while (a < left.length || b < right.length) {
		if (a < left.length && b < right.length && left[a] === right[b]) {
			steps.push([" ", left[a]]);
			a += 1;
			b += 1;
		} else if (a < left.length && (b === right.length || lengths[(a + 1) * width + b] >= lengths[a * width + b + 1])) steps.push(["-", left[a++]]);
		else steps.push(["+", right[b++]]);
	}
	return steps;
}

/** The steps with their line numbers, and whether each is near enough to a change to be shown. */
function near(steps, context) {
	let [left, right] = [1, 1];
	const numbered = steps.map(([kind, line]) => {
		const step = { kind, line, left, right, isShown: false };
		if (kind !== "+") left += 1;
		if (kind !== "-") right += 1;
		return step;
	});
	for (const [at, { kind }] of numbered.entries()) {
		if (kind === " ") continue;
		for (let other = Math.max(0, at - context); other <= Math.min(numbered.length - 1, at + context); other += 1) numbered[other].isShown = true;
	}
	return numbered;
}

/** A difference for reading: line numbers, changes and the lines around them. */
export function generateDiffString(oldContent, newContent, contextLines = 4) {
	const [before, after] = [linesOf(oldContent), linesOf(newContent)];
	const steps = near(compare(before, after), contextLines);
	const width = String(Math.max(before.length, after.length)).length;
	const lines = [];
	let firstChangedLine;
	let isOmitting = false;
	for (const { kind, line, left, right, isShown } of steps) {
		if (kind !== " ") firstChangedLine ??= right;
		if (isShown) lines.push(`${kind}${String(kind === "+" ? right : left).padStart(width)} ${line}`);
		else if (!isOmitting) lines.push(` ${"".padStart(width)} ...`);
		isOmitting = !isShown;
	}
	if (firstChangedLine === undefined) return { diff: "", firstChangedLine };
	return { diff: lines.join("\n"), firstChangedLine };
}

/** A patch in the unified format. */
export function generateUnifiedPatch(path, oldContent, newContent, contextLines = 4) {
	const steps = near(compare(linesOf(oldContent), linesOf(newContent)), contextLines);
	const parts = [`--- ${path}`, `+++ ${path}`];
	for (let at = 0; at < steps.length; at += 1) {
		if (!steps[at].isShown) continue;
		let end = at;
		while (end < steps.length && steps[end].isShown) end += 1;
		const hunk = steps.slice(at, end);
		const count = (other) => hunk.filter(({ kind }) => kind !== other).length;
		parts.push(`@@ -${hunk[0].left},${count("+")} +${hunk[0].right},${count("-")} @@`, ...hunk.map(({ kind, line }) => `${kind}${line}`));
		at = end;
	}
	return `${parts.join("\n")}\n`;
}
