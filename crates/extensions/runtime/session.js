// `ctx.sessionManager`: a mirror of the session's log. Every read asks Osier only for the lines since the last one.

import { requireModule } from "osier:commonjs.js";
import { call, parse } from "osier:primitives.js";

const mirror = { generation: null, entries: [], byId: new Map(), header: null, leafId: null, facts: {} };

/** Brings the mirror up to date. A long session comes in several parts. */
function sync() {
	while (!readNews());
	return mirror;
}

function readNews() {
	const { generation } = mirror;
	const news = call("session.sync", { generation, known: mirror.entries.length });
	if (news.generation !== generation) {
		mirror.generation = news.generation;
		mirror.entries = [];
		mirror.byId.clear();
	}
	for (const line of news.entries) {
		const entry = parse(line);
		mirror.entries.push(entry);
		mirror.byId.set(entry.id, entry);
	}
	mirror.header = news.header ?? mirror.header;
	mirror.leafId = news.leafId;
	mirror.facts = news.facts;
	return news.isComplete;
}

/** The next read is one of another session. */
export function forgetSession() {
	Object.assign(mirror, { generation: null, entries: [], header: null, leafId: null, facts: {} });
	mirror.byId.clear();
}

export const entryById = (id) => (mirror.byId.get(id) ?? sync().byId.get(id));
export const entriesById = (ids) => ids.map(entryById).filter(Boolean);

function path(leafId) {
	const branch = [];
	for (let entry = mirror.byId.get(leafId); entry; entry = mirror.byId.get(entry.parentId)) branch.push(entry);
	return branch.reverse();
}

function labels() {
	const known = new Map();
	for (const entry of mirror.entries) {
		if (entry.type !== "label") continue;
		if (entry.label) known.set(entry.targetId, entry.label);
		else known.delete(entry.targetId);
	}
	return known;
}

function tree() {
	const { entries } = sync();
	const known = labels();
	const nodes = new Map();
	for (const entry of entries) nodes.set(entry.id, { entry, children: [], label: known.get(entry.id) });
	const roots = [];
	for (const node of nodes.values()) {
		const parent = nodes.get(node.entry.parentId);
		(parent ? parent.children : roots).push(node);
	}
	return roots;
}

export const sessionManager = {
	getEntries: () => [...sync().entries],
	getEntry: (id) => entryById(id),
	getBranch: (fromId) => {
		const { leafId } = sync();
		return path(fromId ?? leafId);
	},
	getLeafId: () => sync().leafId,
	getLeafEntry: () => sync().byId.get(mirror.leafId),
	getTree: tree,
	getLabel: (id) => (sync(), labels().get(id)),
	getHeader: () => sync().header,
	getSessionId: () => sync().facts.id,
	getSessionFile: () => sync().facts.file ?? undefined,
	getSessionDir: () => sync().facts.folder ?? "",
	getSessionName: () => sync().facts.name ?? undefined,
	getCwd: () => sync().facts.cwd,
	isPersisted: () => sync().facts.file != null,
	getChildren: (id) => sync().entries.filter((entry) => entry.parentId === id),
	buildSessionContext: () => {
		const context = call("session.context", {});
		// pi stores no system prompt, so its extensions do not expect one.
		return { ...context, messages: context.messages.filter(({ role }) => role !== "system") };
	},
	buildContextEntries: () => conversation().compactedPath(currentPath()),
	buildSessionProjection: () => conversation().projectPath(currentPath()),
	getEntryCount: () => sync().entries.length,
	usesDefaultSessionDir: () => true,
};
const conversation = () => requireModule("osier:modules/pi-coding-agent/conversation.js");
const currentPath = () => path(sync().leafId);

/** What the model would get if these entries were stored. Queued prompts are not among the messages. */
export function previewContext(drafts, boundary) {
	const proposed = drafts.map((draft, at) => ({ ...draft, id: `draft-${at}`, timestamp: new Date().toISOString() }));
	const { entries, messages } = conversation().projectPath([...currentPath(), ...proposed]);
	const llmMessages = conversation().convertToLlm(messages);
	const endsWithReply = llmMessages.at(-1)?.role === "assistant";
	const { hasPendingMessages } = call("agent.state", {});
	const canContinue = (llmMessages.length > 0 && !endsWithReply) || (hasPendingMessages && (boundary === "turn_end" || endsWithReply));
	return { contextEntries: entries, contextMessages: messages, llmMessages, pendingMessages: [], canContinue };
}

// Writing. Appended entries are stored when these return.
const append = (entry) => call("session.append", entry);
Object.assign(sessionManager, {
	appendMessage: (message) => append({ type: "message", message }),
	appendCustomEntry: (customType, data) => append({ type: "custom", customType: String(customType), data }),
	appendCustomMessageEntry: (customType, content, display, details) =>
		append({ type: "custom_message", customType: String(customType), content, display: display !== false, details }),
	appendCompaction: (summary, firstKeptEntryId, tokensBefore, details, fromHook) =>
		append({ type: "compaction", summary, firstKeptEntryId, tokensBefore, details, fromHook }),
	appendContextEdit: (targetId, replacement) => append({ type: "context_edit", targetId, replacement }),
	appendThinkingLevelChange: (thinkingLevel) => append({ type: "thinking_level_change", thinkingLevel }),
	appendModelChange: (provider, modelId) => append({ type: "model_change", provider, modelId }),
	appendSessionInfo: (name) => call("session.rename", { name: String(name) }),
	appendLabelChange: (id, label) => call("session.label", { id, label }),
	branch: (id) => {
		call("session.branch", { id });
	},
	resetLeaf: () => {
		call("session.branch", { id: null });
	},
	branchWithSummary: (id, summary, details) => call("session.branch", { id, summary: String(summary), details }),
	createBranchedSession: (leafId) => call("session.createBranched", { id: leafId }) ?? undefined,
});
// The names of earlier versions.
sessionManager.getLeafUuid = sessionManager.getLeafId;
sessionManager.getPath = sessionManager.getBranch;
