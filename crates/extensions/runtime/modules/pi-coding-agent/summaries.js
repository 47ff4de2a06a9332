// What custom compactions and summaries of branches are made of: where to cut, which messages to summarize, and the summary of a model.

import { modelRegistry } from "osier:models.js";
import { convertToLlm, estimateTokens, serializeConversation, sessionEntryToContextMessages } from "osier:modules/pi-coding-agent/conversation.js";

export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };

const roleOf = (entry) => (entry.type === "message" ? entry.message.role : entry.type);
const startsTurn = (entry) => ["user", "bashExecution", "custom_message", "branch_summary"].includes(roleOf(entry));
const canCut = (entry) => startsTurn(entry) || roleOf(entry) === "assistant";

/** The entry that begins the turn of an entry; -1 if it is before `startIndex`. */
export function findTurnStartIndex(entries, entryIndex, startIndex) {
	for (let at = entryIndex; at >= startIndex; at -= 1) if (startsTurn(entries[at])) return at;
	return -1;
}

/** Which entries to keep, so that about `keepRecentTokens` of the newest ones stay. A result of a tool never comes first. */
export function findCutPoint(entries, startIndex, endIndex, keepRecentTokens) {
	const possible = [];
	for (let at = startIndex; at < endIndex; at += 1) if (canCut(entries[at])) possible.push(at);
	if (!possible.length) return { firstKeptEntryIndex: startIndex, turnStartIndex: -1, isSplitTurn: false };
	let [cut, tokens] = [possible[0], 0];
	for (let at = endIndex - 1; at >= startIndex; at -= 1) {
		for (const message of sessionEntryToContextMessages(entries[at])) tokens += estimateTokens(message);
		if (tokens < keepRecentTokens || !sessionEntryToContextMessages(entries[at]).length) continue;
		cut = possible.find((place) => place >= at) ?? cut;
		break;
	}
	// Marks before the first kept message stay with it.
	while (cut > startIndex && !sessionEntryToContextMessages(entries[cut - 1]).length && entries[cut - 1].type !== "compaction") cut -= 1;
	const first = entries.slice(cut, endIndex).find((entry) => sessionEntryToContextMessages(entry).length);
	const turnStartIndex = first && startsTurn(first) ? -1 : findTurnStartIndex(entries, cut, startIndex);
	return { firstKeptEntryIndex: cut, turnStartIndex, isSplitTurn: turnStartIndex >= 0 };
}

const FILE_TOOLS = { read: "read", write: "written", edit: "edited" };
/** The files that calls of tools name: read, written and edited. */
export function fileOperations(messages) {
	const files = { read: new Set(), written: new Set(), edited: new Set() };
	for (const message of messages) {
		if (message.role !== "assistant" || !Array.isArray(message.content)) continue;
		for (const { type, name, arguments: args } of message.content) {
			if (type === "toolCall" && FILE_TOOLS[name] && typeof args?.path === "string") files[FILE_TOOLS[name]].add(args.path);
		}
	}
	return files;
}

function fileLists({ read, written, edited }) {
	const modified = new Set([...written, ...edited]);
	return { readFiles: [...read].filter((file) => !modified.has(file)).sort(), modifiedFiles: [...modified].sort() };
}

/** What a compaction of a path would summarize; nothing if it ends with a compaction or is short. */
export function prepareCompaction(pathEntries, settings = DEFAULT_COMPACTION_SETTINGS) {
	if (!pathEntries.length || pathEntries.at(-1).type === "compaction") return undefined;
	const last = pathEntries.findLastIndex((entry) => entry.type === "compaction");
	const kept = last < 0 ? -1 : pathEntries.findIndex(({ id }) => id === pathEntries[last].firstKeptEntryId);
	const start = last < 0 ? 0 : kept >= 0 ? kept : last + 1;
	const { firstKeptEntryIndex, turnStartIndex, isSplitTurn } = findCutPoint(pathEntries, start, pathEntries.length, settings.keepRecentTokens);
	const messages = (from, to) => pathEntries.slice(from, to).filter((entry) => entry.type !== "compaction").flatMap(sessionEntryToContextMessages);
	const messagesToSummarize = messages(start, isSplitTurn ? turnStartIndex : firstKeptEntryIndex);
	const turnPrefixMessages = isSplitTurn ? messages(turnStartIndex, firstKeptEntryIndex) : [];
	if (!messagesToSummarize.length && !turnPrefixMessages.length) return undefined;
	const tokensBefore = messages(start, pathEntries.length).reduce((sum, message) => sum + estimateTokens(message), 0);
	return {
		firstKeptEntryId: pathEntries[firstKeptEntryIndex].id,
		messagesToSummarize,
		turnPrefixMessages,
		isSplitTurn,
		tokensBefore,
		previousSummary: pathEntries[last]?.summary,
		fileOps: fileOperations([...messagesToSummarize, ...turnPrefixMessages]),
		settings,
	};
}

/** The entries of the branch that a move leaves, oldest first, and where both branches meet. */
export function collectEntriesForBranchSummary(session, oldLeafId, targetId) {
	if (!oldLeafId) return { entries: [], commonAncestorId: null };
	const onTarget = new Set(session.getBranch(targetId).map(({ id }) => id));
	const old = session.getBranch(oldLeafId);
	const meets = old.findLastIndex(({ id }) => onTarget.has(id));
	return { entries: old.slice(meets + 1), commonAncestorId: old[meets]?.id ?? null };
}

/** The newest messages of a branch that fit into a budget of tokens, and the files that it used. */
export function prepareBranchEntries(entries, tokenBudget = 0) {
	const [messages, files] = [[], fileOperations([])];
	let totalTokens = 0;
	const all = entries.flatMap((entry) => {
		if (entry.type === "branch_summary" && !entry.fromHook) {
			for (const file of entry.details?.readFiles ?? []) files.read.add(file);
			for (const file of entry.details?.modifiedFiles ?? []) files.edited.add(file);
		}
		if (entry.type === "compaction") return [{ role: "compactionSummary", summary: entry.summary, tokensBefore: entry.tokensBefore, timestamp: Date.parse(entry.timestamp) }];
		return roleOf(entry) === "toolResult" ? [] : sessionEntryToContextMessages(entry);
	});
	const used = fileOperations(all);
	for (const kind of Object.keys(files)) for (const file of used[kind]) files[kind].add(file);
	for (const message of all.reverse()) {
		const tokens = estimateTokens(message);
		if (tokenBudget > 0 && totalTokens + tokens > tokenBudget) break;
		messages.unshift(message);
		totalTokens += tokens;
	}
	return { messages, fileOps: files, totalTokens };
}

const FORM = "Write what somebody needs who continues this work without the conversation: the goal, requirements and decisions, what is done, what is open, and names of files, functions and errors as they are. Use short sections and lists.";
const SYSTEM = "You summarize conversations between a user and a coding agent. You do not continue the conversation and do not answer questions in it; you write only the summary.";

async function ask(model, text, { signal, thinkingLevel, maxTokens }) {
	const messages = [{ role: "user", content: [{ type: "text", text }], timestamp: Date.now() }];
	const reasoning = model.reasoning && thinkingLevel !== "off" ? thinkingLevel : undefined;
	const reply = await modelRegistry.complete(model, { systemPrompt: SYSTEM, messages }, { signal, reasoning, maxTokens });
	if (reply.stopReason === "aborted" || reply.stopReason === "error") throw new Error(reply.errorMessage ?? reply.stopReason);
	const summary = reply.content.filter(({ type }) => type === "text").map((block) => block.text).join("\n").trim();
	if (!summary) throw new Error("the model wrote no summary");
	return { text: summary, usage: reply.usage };
}

const conversation = (messages) => `<conversation>\n${serializeConversation(convertToLlm(messages))}\n</conversation>`;

export async function generateSummaryWithUsage(messages, model, reserveTokens, _apiKey, _headers, signal, customInstructions, previousSummary, thinkingLevel) {
	const before = previousSummary ? `\n\n<previous-summary>\n${previousSummary}\n</previous-summary>\n\nUpdate the previous summary: keep what still holds.` : "";
	const more = customInstructions ? `\n\nAdditional focus: ${customInstructions}` : "";
	return ask(model, `${conversation(messages)}${before}\n\n${FORM}${more}`, { signal, thinkingLevel, maxTokens: reserveTokens ? Math.floor(reserveTokens * 0.8) : undefined });
}
export const generateSummary = async (...args) => (await generateSummaryWithUsage(...args)).text;

export async function generateBranchSummary(entries, { model, signal, thinkingLevel, customInstructions, replaceInstructions, reserveTokens = 16384 }) {
	const { messages, fileOps } = prepareBranchEntries(entries, (model.contextWindow ?? 128_000) - reserveTokens);
	if (!messages.length) return { summary: "No content to summarize" };
	const instructions = replaceInstructions && customInstructions ? customInstructions : `${FORM}${customInstructions ? `\n\nAdditional focus: ${customInstructions}` : ""}`;
	try {
		const { text, usage } = await ask(model, `${conversation(messages)}\n\n${instructions}`, { signal, thinkingLevel });
		return { summary: text, usage, ...fileLists(fileOps) };
	} catch (error) {
		return signal?.aborted ? { aborted: true } : { error: error.message };
	}
}

/** The compaction that a preparation describes, with the summary of a model. */
export async function compact(preparation, model, apiKey, headers, customInstructions, signal, thinkingLevel) {
	const { messagesToSummarize, turnPrefixMessages = [], previousSummary, firstKeptEntryId, tokensBefore, settings, fileOps } = preparation;
	const messages = [...messagesToSummarize, ...turnPrefixMessages];
	const reserve = settings?.reserveTokens ?? DEFAULT_COMPACTION_SETTINGS.reserveTokens;
	const { text, usage } = await generateSummaryWithUsage(messages, model, reserve, apiKey, headers, signal, customInstructions, previousSummary, thinkingLevel);
	return { summary: text, firstKeptEntryId, tokensBefore, usage, details: fileLists(fileOps ?? fileOperations(messages)) };
}

/** The tokens of messages: what the last reply reported, and an estimate of what came after it. */
export function estimateContextTokens(messages) {
	const lastUsageIndex = messages.findLastIndex(({ role, usage, stopReason }) => role === "assistant" && usage && stopReason !== "aborted" && stopReason !== "error");
	const { totalTokens, input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = messages[lastUsageIndex]?.usage ?? {};
	const usageTokens = totalTokens || input + output + cacheRead + cacheWrite;
	const trailingTokens = messages.slice(lastUsageIndex + 1).reduce((sum, message) => sum + estimateTokens(message), 0);
	return { tokens: usageTokens + trailingTokens, usageTokens, trailingTokens, lastUsageIndex: lastUsageIndex < 0 ? null : lastUsageIndex };
}
