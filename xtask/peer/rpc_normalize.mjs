// Takes out of answers and events what differs between any two runs, and what differs on purpose: docs/rpc.md lists the latter.

/** Ids that the programs invent, by what they look like. */
const GENERATED = /^([0-9a-f]{8}|[0-9a-f]{8}-[0-9a-f-]{27})$/;
const TIMES = ["timestamp", "labelTimestamp", "durationMs", "delayMs"];
/** Fields that only one of the programs has, and texts that each writes in its own words. */
const DIFFERENT = ["code", "error", "errorMessage", "finalError", "sessionFile", "rawStopReason", "totalFromProvider", "details", "estimatedTokensAfter", "sourceInfo", "structuredContent"];

export function normalize(results, paths) {
	return results.map(({ step, events, ...result }) => {
		const ids = new Map();
		return { step, ...value(result, ids, paths), events: arrange(events.filter(isShared).map((event) => value(event, ids, paths))) };
	});
}

function value(input, ids, paths) {
	if (Array.isArray(input)) return input.filter(isShared).map((item) => value(item, ids, paths));
	if (typeof input === "string") return text(input, ids, paths);
	if (input === null || typeof input !== "object") return input;
	if (input.role === "system") return { role: "system" };
	const output = {};
	for (const [name, field] of Object.entries(input)) {
		if (TIMES.includes(name) || DIFFERENT.includes(name) || isDefault(name, field, input)) continue;
		output[name] = value(field, ids, paths);
	}
	if (input.type === "extension_ui_request") output.id = "dialog";
	if (input.type === "thinking_level_change") delete output.thinkingLevel;
	if (input.role === "toolResult") output.content = texts(input.content);
	if (input.type === "tool_execution_end") output.result = { content: texts(input.result.content) };
	if (input.type === "message_update") delete output.usage;
	return output;
}

/** Osier's own entries, the model without a network, and the commands of each program. */
function isShared(item) {
	const isContextEdit = item?.type === "entry_appended" && item.entry.type === "context_edit";
	return !(isContextEdit || item?.customType?.startsWith("osier.") || item?.provider === "offline" || ["init", "reload"].includes(item?.name));
}

function isDefault(name, field, owner) {
	return (name === "reasoning" && field === 0) || (name === "thinkingLevel" && owner.role === "assistant") || (name === "usage" && "firstKeptEntryId" in owner);
}

/** Tools describe failures in their own words. */
function texts(content) {
	return content.map((block) => block.type);
}

function text(input, ids, paths) {
	if (GENERATED.test(input)) {
		if (!ids.has(input)) ids.set(input, `id-${ids.size + 1}`);
		return ids.get(input);
	}
	const plain = input.replaceAll(paths.cwd, "CWD").replaceAll(paths.home, "HOME").replace(/^http:\/\/127\.0\.0\.1:\d+/, "SERVER");
	// The heading of a summary in two parts.
	if (plain.includes("\n\n---\n\n**")) return plain.replace(/\*\*.*:\*\*/, "HEADING");
	// Osier stores the output of commands without the last line break.
	return plain.replace(/\n$/, "");
}

/**
 * Puts what happens at the same time into one order: the pieces of a reply before its end, by block and with adjacent pieces
 * joined; of several calls first the starts, then the ends, each in the order of the calls, then the results.
 */
function arrange(events) {
	const output = [];
	let updates = [];
	let tools = [];
	for (const event of events) {
		if (event.type === "message_update") {
			updates.push(event);
		} else if (event.type.startsWith("tool_execution") || event.message?.role === "toolResult") {
			tools.push(event);
		} else {
			if (event.type === "message_end") output.push(...joined(updates.splice(0)));
			output.push(...tools.splice(0).sort(byKindAndCall), event);
		}
	}
	return [...output, ...joined(updates), ...tools];
}

/** Calls run at the same time, so either may end first. */
function byKindAndCall(a, b) {
	return rank(a) - rank(b) || (a.toolCallId ?? "").localeCompare(b.toolCallId ?? "");
}

function rank(event) {
	return ["tool_execution_start", "tool_execution_update", "tool_execution_end"].indexOf(event.type) + 1 || 4;
}

function joined(updates) {
	const blocks = new Map();
	for (const { assistantMessageEvent: { delta, ...event } } of updates) {
		const block = blocks.get(event.contentIndex) ?? [];
		blocks.set(event.contentIndex, block);
		const last = block.at(-1);
		if (delta !== undefined && last?.type === event.type) last.delta += delta;
		else block.push(delta === undefined ? event : { ...event, delta });
	}
	return [...blocks.values()].flat().map((assistantMessageEvent) => ({ type: "message_update", assistantMessageEvent }));
}
