// Messages of a session as messages for a model, and as text.

const user = (text, timestamp) => ({ role: "user", content: [{ type: "text", text }], timestamp });
const SUMMARY = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const BRANCH = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";

export function bashExecutionToText({ command, output, exitCode, cancelled, truncated, fullOutputPath }) {
	let text = `Ran \`${command}\`\n${output ? `\`\`\`\n${output}\n\`\`\`` : "(no output)"}`;
	if (cancelled) text += "\n\n(command cancelled)";
	else if (exitCode) text += `\n\nCommand exited with code ${exitCode}`;
	if (truncated && fullOutputPath) text += `\n\n[Output truncated. Full output: ${fullOutputPath}]`;
	return text;
}

/** Only user, assistant and tool result messages; others become user messages. */
export function convertToLlm(messages) {
	return messages.flatMap((message) => {
		switch (message.role) {
			case "user":
			case "assistant":
			case "toolResult":
				return [message];
			case "custom":
				return [{ role: "user", content: typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content, timestamp: message.timestamp }];
			case "bashExecution":
				return message.excludeFromContext ? [] : [user(bashExecutionToText(message), message.timestamp)];
			case "compactionSummary":
				return [user(`${SUMMARY}${message.summary}\n</summary>`, message.timestamp)];
			case "branchSummary":
				return [user(`${BRANCH}${message.summary}</summary>`, message.timestamp)];
			default:
				return [];
		}
	});
}

const textOf = (content) => (typeof content === "string" ? content : content.filter((block) => block.type === "text").map((block) => block.text).join(""));
const MAX_RESULT = 2000;

/** A conversation as text, for a request that summarizes it. */
export function serializeConversation(messages) {
	const parts = [];
	for (const message of messages) {
		if (message.role === "user") {
			const text = textOf(message.content);
			if (text) parts.push(`[User]: ${text}`);
		} else if (message.role === "assistant") {
			const thinking = message.content.filter((block) => block.type === "thinking").map((block) => block.thinking);
			const calls = message.content.filter((block) => block.type === "toolCall").map(({ name, arguments: args }) => `${name}(${Object.entries(args ?? {}).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ")})`);
			const text = message.content.filter((block) => block.type === "text").map((block) => block.text);
			if (thinking.length) parts.push(`[Assistant thinking]: ${thinking.join("\n")}`);
			if (text.length) parts.push(`[Assistant]: ${text.join("\n")}`);
			if (calls.length) parts.push(`[Assistant tool calls]: ${calls.join("; ")}`);
		} else if (message.role === "toolResult") {
			const text = textOf(message.content);
			const more = text.length - MAX_RESULT;
			if (text) parts.push(`[Tool result]: ${more > 0 ? `${text.slice(0, MAX_RESULT)}\n\n[... ${more} more characters truncated]` : text}`);
		}
	}
	return parts.join("\n\n");
}

const IMAGE = 4800;
const blockLength = ({ type, text, thinking, name, arguments: args }) => (type === "image" ? IMAGE : (text ?? thinking ?? `${name ?? ""}${JSON.stringify(args ?? {})}`).length);
const words = (value) => (Array.isArray(value) ? value.reduce((sum, block) => sum + blockLength(block), 0) : String(value ?? "").length);
/** About four characters are a token. */
export const estimateTokens = (message) => Math.ceil(words(message.summary ?? message.content ?? `${message.command}${message.output}`) / 4);
export const calculateContextTokens = (usage) => usage?.totalTokens || (usage?.input ?? 0) + (usage?.output ?? 0) + (usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0);

const messageOf = (entry) => {
	if (entry.type === "message") return entry.message;
	if (entry.type === "custom_message") return { role: "custom", customType: entry.customType, content: entry.content, display: entry.display, details: entry.details, timestamp: Date.parse(entry.timestamp) };
	if (entry.type === "branch_summary") return { role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp: Date.parse(entry.timestamp) };
	return undefined;
};
export const sessionEntryToContextMessages = (entry) => [messageOf(entry)].filter(Boolean);

function pathTo(entries, leafId) {
	if (leafId === null) return [];
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const path = [];
	for (let entry = byId.get(leafId ?? entries.at(-1)?.id); entry; entry = byId.get(entry.parentId)) path.unshift(entry);
	return path;
}

/** A path as a model sees it: the last compaction, the entries that it keeps, and those after it. */
export function compactedPath(path) {
	const cut = path.findLastIndex((entry) => entry.type === "compaction");
	if (cut < 0) return path;
	const first = path.findIndex((entry) => entry.id === path[cut].firstKeptEntryId);
	return [path[cut], ...(first >= 0 ? path.slice(first, cut) : []), ...path.slice(cut + 1)];
}
export const buildContextEntries = (entries, leafId) => compactedPath(pathTo(entries, leafId));

/** The messages that an entry contributes, with the last edit of it applied. */
function contributed(entry, edit) {
	const messages = entry.type === "compaction" ? [{ role: "compactionSummary", summary: entry.summary, tokensBefore: entry.tokensBefore, timestamp: Date.parse(entry.timestamp) }] : sessionEntryToContextMessages(entry);
	if (edit === undefined) return messages;
	if (edit === null) return [];
	return messages.map((message) => {
		if (!["user", "assistant", "toolResult", "custom"].includes(message.role)) return message;
		const isList = message.role === "assistant" || message.role === "toolResult";
		return { ...message, content: isList && typeof edit.content === "string" ? [{ type: "text", text: edit.content }] : edit.content };
	});
}

/** What a model gets of a path, and which entry each message comes from. */
export function projectPath(path) {
	let [thinkingLevel, model] = ["off", null];
	for (const entry of path) {
		if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
		else if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
	}
	const kept = compactedPath(path);
	const edits = new Map(kept.filter(({ type }) => type === "context_edit").map(({ targetId, replacement }) => [targetId, replacement]));
	const projected = kept.map((sourceEntry, at) => {
		// An earlier compaction is part of the last one.
		const messages = sourceEntry.type === "compaction" && at > 0 ? [] : contributed(sourceEntry, edits.get(sourceEntry.id));
		return { sourceEntry, messages: messages.filter(({ role }) => role !== "system") };
	});
	return { entries: projected, messages: projected.flatMap((entry) => entry.messages), thinkingLevel, model };
}
export const buildSessionProjection = (entries, leafId) => projectPath(pathTo(entries, leafId));

/** The messages from the root to an entry, with the last compaction and all edits applied. */
export function buildSessionContext(entries, leafId) {
	const { messages, thinkingLevel, model } = buildSessionProjection(entries, leafId);
	return { messages, thinkingLevel, model };
}
export const getLatestCompactionEntry = (entries) => entries.findLast((entry) => entry.type === "compaction") ?? null;
