// Random conversations on pi's SessionManager: all kinds of entries and moves, without damage.

/** A small seeded random generator. */
export function dice(seed) {
	let state = seed >>> 0;
	const unit = () => {
		state = (state + 0x9e3779b9) >>> 0;
		let x = state;
		x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
		x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
		return ((x ^ (x >>> 15)) >>> 0) / 4294967296;
	};
	const below = (n) => Math.floor(unit() * n);
	return {
		below,
		chance: (p) => unit() < p,
		pick: (list) => list[below(list.length)],
		weighted(list) {
			let left = unit() * list.reduce((sum, [weight]) => sum + weight, 0);
			for (const [weight, thing] of list) if ((left -= weight) < 0) return thing;
			return list[list.length - 1][1];
		},
	};
}

export const freshId = (r) => r.below(2 ** 32).toString(16).padStart(8, "0");

const PIECES = [
	"plain words", "ein Äpfelchen", "汉字和标点。", "🧵🪡", "e\u0301 combined", "sep\u2028line", "par\u2029agraph", "tab\there",
	"two\nlines", "dos\r\nlines", '"quoted"', "back\\slash", "\u0000\u001b[31m", "</summary>", '{"type":"session","id":"x"}',
	'"parentId":null', "null", "  spaces  ", "\ufeffmark", "עברית", "👩‍👩‍👧", "0.1e-7",
];

export function text(r, pieces = 1 + r.below(6)) {
	const parts = [];
	for (let i = 0; i < pieces; i++) parts.push(r.pick(PIECES));
	// JavaScript truncation can cut a string inside a surrogate pair.
	if (r.chance(0.02)) parts.push("cut \ud83d");
	return parts.join(" ");
}

// Contains what looks like an entry, so that a careless parser takes the wrong id.
const lookalike = (r) => ({ type: "session", id: "inner", parentId: "inner", timestamp: "never", message: { role: "system" }, note: text(r) });

const usage = (r) => {
	const [input, output, cacheRead] = [r.below(5000), r.below(900), r.below(90000)];
	return {
		input, output, cacheRead, cacheWrite: 0, totalTokens: input + output + cacheRead,
		cost: { input: input * 3e-6, output: output * 15e-6, cacheRead: cacheRead * 3e-7, cacheWrite: 0, total: input * 3e-6 + output * 15e-6 + cacheRead * 3e-7 },
	};
};

const image = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };
const textBlock = (r) => ({ type: "text", text: text(r) });

function user(r) {
	const content = r.chance(0.3) ? text(r) : r.chance(0.1) ? [] : [textBlock(r), ...(r.chance(0.15) ? [image] : [])];
	return { role: "user", content, timestamp: Date.now() };
}

function assistant(r, content, stopReason, more = {}) {
	const [provider, model] = r.pick([["anthropic", "claude-sonnet-4-5"], ["openai", "gpt-5"], ["local", "qwen 3 \u2028"]]);
	return { role: "assistant", content, api: "some-api", provider, model, usage: usage(r), stopReason, timestamp: Date.now(), ...more };
}

const thinking = (r) => (r.chance(0.3) ? [{ type: "thinking", thinking: text(r), thinkingSignature: "c2ln" }] : []);

function toolResult(r, call) {
	const long = r.chance(0.003) ? "ü汉🧵\n".repeat(120_000) : text(r);
	return {
		role: "toolResult", toolCallId: call.id, toolName: call.name, content: [{ type: "text", text: long }, ...(r.chance(0.05) ? [image] : [])],
		...(r.chance(0.3) ? { details: lookalike(r) } : {}), isError: r.chance(0.1), timestamp: Date.now(),
	};
}

function toolRound(sm, r) {
	const calls = [];
	for (let i = 0; i <= r.below(2); i++) {
		calls.push({ type: "toolCall", id: `call_${r.below(1e9)}`, name: r.pick(["read", "bash", "edit"]), arguments: { path: text(r, 1), id: "inner" } });
	}
	sm.appendMessage(assistant(r, [...thinking(r), textBlock(r), ...calls], "toolUse"));
	for (const call of calls) if (!r.chance(0.12)) sm.appendMessage(toolResult(r, call));
}

function ending(sm, r) {
	const how = r.weighted([[8, "stop"], [1, "length"], [1, "error"], [1, "aborted"], [1, "none"]]);
	if (how === "none") return;
	if (how === "error") sm.appendMessage(assistant(r, [], "error", { errorMessage: text(r) }));
	else sm.appendMessage(assistant(r, [...thinking(r), textBlock(r)], how));
}

function turn(sm, r) {
	sm.appendMessage(user(r));
	for (let i = r.below(3); i > 0; i--) toolRound(sm, r);
	ending(sm, r);
}

function system(sm, r) {
	const first = { content: r.chance(0.5) ? text(r) : [textBlock(r)], sections: { preamble: text(r), skills: "<skills/>" }, toolsAdded: [{ name: "read", description: "Reads", parameters: { type: "object" } }] };
	const patch = { content: "", sections: r.chance(0.5) ? { skills: null } : { preamble: text(r) }, ...(r.chance(0.3) ? { toolsRemoved: ["read"] } : {}) };
	sm.appendMessage({ role: "system", ...(r.chance(0.5) ? first : patch), timestamp: Date.now() });
}

function bash(sm, r) {
	sm.appendMessage({
		role: "bashExecution", command: text(r, 1), output: r.chance(0.2) ? "" : text(r), ...(r.chance(0.8) ? { exitCode: r.below(3) } : {}), cancelled: r.chance(0.1),
		truncated: false, ...(r.chance(0.2) ? { excludeFromContext: true } : {}), timestamp: Date.now(),
	});
}

const anyId = (sm, r) => r.pick(sm.getEntries())?.id;
const pathId = (sm, r) => r.pick(sm.getBranch())?.id;

function compaction(sm, r) {
	const kept = r.weighted([[6, pathId(sm, r)], [1, null], [1, "deadbeef"], [1, anyId(sm, r)]]);
	const details = r.chance(0.5) ? { readFiles: ["a"], modifiedFiles: [text(r, 1)] } : undefined;
	sm.appendCompaction(text(r), kept ?? null, r.below(200000), details, r.chance(0.2) || undefined, r.chance(0.3) ? usage(r) : undefined);
}

function contextEdit(sm, r) {
	const editable = sm.getBranch().filter((e) => e.type === "custom_message" || (e.type === "message" && ["user", "assistant", "toolResult"].includes(e.message.role)));
	if (editable.length === 0) return;
	const content = r.chance(0.5) ? text(r) : [textBlock(r)];
	sm.appendContextEdit(r.pick(editable).id, r.chance(0.4) ? null : { content });
}

function label(sm, r) {
	const id = r.chance(0.7) ? pathId(sm, r) : anyId(sm, r);
	if (id) sm.appendLabelChange(id, r.weighted([[6, text(r, 1)], [1, ""], [1, undefined]]));
}

function summary(sm, r) {
	const target = r.chance(0.15) ? null : (anyId(sm, r) ?? null);
	sm.branchWithSummary(target, r.chance(0.1) ? "" : text(r), r.chance(0.4) ? { readFiles: [text(r, 1)], modifiedFiles: ["b"] } : undefined, r.chance(0.2) || undefined);
}

function goTo(sm, r) {
	const id = anyId(sm, r);
	if (id) sm.branch(id);
}

const ACTS = [
	[30, turn],
	[10, goTo],
	[1, (sm) => sm.resetLeaf()],
	[5, summary],
	[7, label],
	[4, compaction],
	[5, contextEdit],
	[3, system],
	[3, bash],
	[4, (sm, r) => sm.appendCustomEntry(r.pick(["todo", "files", "any.thing"]), r.pick([undefined, null, 3, text(r), lookalike(r)]))],
	[4, (sm, r) => sm.appendCustomMessageEntry("notice", r.chance(0.5) ? text(r) : [textBlock(r)], r.chance(0.7), r.chance(0.3) ? lookalike(r) : undefined)],
	[1, (sm, r) => sm.appendMessage({ role: "custom", customType: "old", content: text(r), display: true, timestamp: Date.now() })],
	[2, (sm, r) => sm.appendSessionInfo(r.weighted([[5, text(r, 2)], [1, ""], [1, " \n "]]))],
	[2, (sm, r) => sm.appendUsage("cache_warm", "anthropic", "claude-sonnet-4-5", usage(r), r.chance(0.5) ? text(r) : undefined)],
	[3, (sm, r) => sm.appendModelChange("openai", r.pick(["gpt-5", "o9"]))],
	[3, (sm, r) => sm.appendThinkingLevelChange(r.pick(["off", "low", "high", "max"]))],
];

/** Makes `count` random changes to the session. */
export function live(sm, r, count) {
	for (let i = 0; i < count; i++) r.weighted(ACTS)(sm, r);
}

/** pi writes no file before the first message. */
export function speakOnce(sm, r) {
	const spoken = sm.getEntries().some((e) => e.type === "message" && ["user", "assistant"].includes(e.message.role));
	if (!spoken) turn(sm, r);
}
