// What pi would summarize: branch scopes, compaction cuts, token counts and texts of messages. Where Osier
// differs on purpose (docs/differences.md), pi gets the input without the difference, or the answer
// states what must hold instead.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dice } from "./random.mjs";

const KEEPS = [50, 100, 200, 400, 800, 1500, 3000, 5000];
const NOTHING = { "Already compacted": "AlreadyCompacted", "Nothing to compact (session too small)": "TooSmall" };

/** Takes `{dir, seed, files}`; returns `{files: [[case with answer]], limits: [case with answer]}`. */
export async function prepare(pi, { dir, seed, files }) {
	const compactor = await makeCompactor(pi, dir);
	const answers = [];
	for (const [n, file] of files.entries()) answers.push(await withCopy(file, dir, (copy) => cases(pi, compactor, copy, dice(seed + n))));
	return { files: answers, limits: limits(pi, dice(seed)) };
}

// pi must not see what the user excluded from the context: Osier counts it as zero tokens. Every other byte stays.
async function withCopy(file, dir, work) {
	const copy = join(dir, "copy.jsonl");
	copyFileSync(file, copy);
	const text = readFileSync(copy, "latin1").split("\n").map(withoutAside).join("\n");
	writeFileSync(copy, text, "latin1");
	try {
		return await work(copy);
	} finally {
		rmSync(copy, { force: true });
	}
}

function withoutAside(line) {
	if (!line.includes("excludeFromContext")) return line;
	try {
		const { message, ...entry } = JSON.parse(line);
		if (message?.role !== "bashExecution" || message.excludeFromContext !== true) return line;
		return JSON.stringify({ ...entry, type: "custom", customType: "aside" });
	} catch {
		return line;
	}
}

/** An agent that never calls a model: an extension records what it would summarize, and stops it. */
async function makeCompactor(pi, dir) {
	const agentDir = join(dir, "agent");
	mkdirSync(agentDir, { recursive: true });
	const modelRuntime = await pi.ModelRuntime.create({ authPath: join(agentDir, "auth.json"), modelsPath: join(agentDir, "models.json") });
	await modelRuntime.setRuntimeApiKey("anthropic", "none");
	const settingsManager = pi.SettingsManager.inMemory({ compaction: { enabled: false } });
	let seen;
	const resourceLoader = new pi.DefaultResourceLoader({
		cwd: dir, agentDir, settingsManager, noExtensions: true, noSkills: true, noPromptTemplates: true, noThemes: true, noContextFiles: true,
		extensionFactories: [(api) => api.on("session_before_compact", (event) => {
			seen = event.preparation;
			return { cancel: true };
		})],
	});
	await resourceLoader.reload();
	const sessionManager = pi.SessionManager.inMemory(dir);
	const model = await modelRuntime.getModel("anthropic", "claude-sonnet-4-5");
	const { session } = await pi.createAgentSession({ cwd: dir, agentDir, model, modelRuntime, settingsManager, resourceLoader, sessionManager, noTools: "all" });
	return async (file, at, keepRecentTokens) => {
		sessionManager.setSessionFile(file);
		sessionManager.branch(at);
		settingsManager.applyOverrides({ compaction: { enabled: false, keepRecentTokens } });
		seen = undefined;
		try {
			await session.compact();
		} catch (error) {
			if (!seen) return { nothing: NOTHING[error.message], error: error.message };
		}
		return seen;
	};
}

async function cases(pi, compactor, file, r) {
	const sm = pi.SessionManager.open(file);
	const ids = [...new Set(sm.getEntries().map((entry) => entry.id).filter((id) => typeof id === "string"))];
	if (ids.length === 0) return [];
	const places = [sm.getLeafId(), r.pick(ids)].filter((id) => sm.getEntry(id) !== undefined);
	const out = places.map((at) => ({ what: "messages", at, ...tried(() => messages(pi, sm, at)) }));
	for (let i = 0; i < 4; i++) {
		const [from, to, budget] = [i === 0 ? places[0] : r.pick(ids), r.pick(ids), r.pick([0, ...KEEPS])];
		out.push({ what: "leave", from, to, budget, ...tried(() => leave(pi, sm, from, to, budget)) });
	}
	for (const at of places) {
		for (let i = 0; i < 3; i++) {
			const keep = r.pick(KEEPS);
			out.push({ what: "cut", at, keep, ...judged(sm.getBranch(at), await compactor(file, at, keep)) });
		}
	}
	return out;
}

/** Damage makes some of pi's functions throw. */
function tried(work) {
	try {
		return work();
	} catch (error) {
		return { skipped: error.message };
	}
}

const SERIALIZED_ROLES = ["user", "assistant", "toolResult", "custom"];
const COUNTED_ROLES = [...SERIALIZED_ROLES, "bashExecution", "branchSummary", "compactionSummary", "system"];

/** Token count and text of each message; null where each program has its own rules. */
function messages(pi, sm, at) {
	const context = pi.buildSessionContext(sm.getEntries(), at).messages;
	const seen = context.map((message) => ({
		tokens: COUNTED_ROLES.includes(message.role) ? pi.estimateTokens(message) : null,
		text: SERIALIZED_ROLES.includes(message.role) ? pi.serializeConversation(pi.convertToLlm([message])) : null,
	}));
	return { seen };
}

const roleOf = (entry) => (entry.type === "message" ? entry.message?.role : undefined);
const isConversation = (message) => [...SERIALIZED_ROLES, "bashExecution", "branchSummary", "compactionSummary"].includes(message.role);

function leave(pi, sm, from, to, budget) {
	const { entries, commonAncestorId } = pi.collectEntriesForBranchSummary(sm, from, to);
	const scope = inContext(entries, sm.getBranch(from)).filter((entry) => roleOf(entry) === undefined || isConversation(entry.message));
	const { messages, fileOps, totalTokens } = pi.prepareBranchEntries(scope, budget);
	for (const compaction of scope.filter((entry) => entry.type === "compaction")) addDetails(fileOps, compaction);
	return {
		answer: { ancestor: commonAncestorId, entries: entries.map((entry) => entry.id), messages: messages.filter((message) => message.summary !== ""), tokens: totalTokens, files: fileLists(fileOps) },
	};
}

/** The part of the left branch that the model saw: the last compaction, what it kept, and what came after it. */
function inContext(entries, path) {
	const said = (entry) => entry.type !== "compaction";
	const at = entries.findLastIndex((entry) => entry.type === "compaction");
	if (at < 0) return entries.filter(said);
	const kept = path.findIndex((entry) => entry.id === entries[at].firstKeptEntryId);
	const start = path.length - entries.length;
	const isKept = (i) => kept >= 0 && start + i >= kept;
	// A compaction that hides only the common part says nothing about the branch that is left.
	const hides = entries.slice(0, at).some((_, i) => !isKept(i));
	const compaction = hides ? [entries[at]] : [];
	return [...compaction, ...entries.filter((entry, i) => said(entry) && (i > at || isKept(i)))];
}

function addDetails(fileOps, { details, fromHook }) {
	if (fromHook || !details) return;
	for (const path of details.readFiles ?? []) fileOps.read.add(path);
	for (const path of details.modifiedFiles ?? []) fileOps.edited.add(path);
}

function fileLists({ read, written, edited }) {
	const modified = new Set([...written, ...edited]);
	return { readFiles: [...read].filter((path) => !modified.has(path)).sort(), modifiedFiles: [...modified].sort() };
}

/** pi's preparation, and what Osier must return: `answer`, or the allowed cuts where Osier has its own rules. */
function judged(branch, prepared) {
	const compaction = branch.findLastIndex((entry) => entry.type === "compaction");
	if (compaction >= 0 && !branch.slice(compaction + 1).some(visibility(branch))) return { answer: { nothing: "AlreadyCompacted" } };
	if (prepared.nothing) return { answer: { nothing: prepared.nothing } };
	if (prepared.error) return { skipped: prepared.error };
	const kept = branch.findIndex((entry) => entry.id === branch[compaction]?.firstKeptEntryId);
	const path = branch.slice(kept >= 0 ? kept : compaction + 1);
	const first = path.findIndex((entry) => entry.id === prepared.firstKeptEntryId);
	const visible = visibility(path);
	const cut = first + path.slice(first).findIndex((entry) => visible(entry));
	const bound = question(path, visible);
	if (cut > bound || cut < first) return { among: path.slice(0, bound + 1).map((entry) => entry.id) };
	if (partsCall(path, visible, cut)) return { among: path.filter((_, i) => i < first || i > cut).map((entry) => entry.id) };
	// pi's first kept entry may be empty and above the previous compaction or a system prompt; Osier's never is.
	const isBarrier = (entry) => entry.type === "compaction" || roleOf(entry) === "system";
	const firstKept = path[path.slice(first, cut).findLastIndex(isBarrier) + 1 + first].id;
	const summarized = [...prepared.messagesToSummarize, ...prepared.turnPrefixMessages].filter(isConversation);
	for (const entry of path.slice(0, first)) if (entry.type === "branch_summary") addDetails(prepared.fileOps, entry);
	if (summarized.length === 0) return { answer: { nothing: "TooSmall" } }; // unknown roles are not part of the conversation
	return {
		answer: {
			firstKept, messages: summarized, previous: prepared.previousSummary ?? null, files: fileLists(prepared.fileOps),
			...split(path[cut], prepared), ...(prompts(branch) > 1 ? {} : { tokensBefore: prepared.tokensBefore }),
		},
	};
}

/** pi decides by the first kept entry, even an empty one, and treats every custom message as the start of a turn. */
function split(cut, { isSplitTurn, turnPrefixMessages }) {
	const isCustom = (entry) => entry.type === "custom_message" || roleOf(entry) === "custom";
	if (isCustom(cut) || turnPrefixMessages[0]?.role === "custom") return {};
	const starts = cut.type === "branch_summary" || ["user", "bashExecution"].includes(roleOf(cut));
	if (starts) return { isSplit: false, prefix: 0 };
	return { isSplit: isSplitTurn, prefix: turnPrefixMessages.filter(isConversation).length };
}

/** pi counts several system messages as one merged message, Osier counts each of them. */
const prompts = (path) => path.filter((entry) => roleOf(entry) === "system" || entry.systemMessage).length;

/** Whether the model sees an entry as a message that no edit removed. */
function visibility(path) {
	const edits = new Map(path.filter((entry) => entry.type === "context_edit").map((entry) => [entry.targetId, entry.replacement]));
	const isMessage = (entry) => entry.type === "custom_message" || (entry.type === "branch_summary" ? entry.summary : entry.type === "message" && isConversation(entry.message));
	return (entry) => isMessage(entry) && edits.get(entry.id) !== null;
}

/** The start of the user's last prompt, if it has no answer. */
function question(path, visible) {
	const is = (i, role) => visible(path[i]) && roleOf(path[i]) === role;
	const answers = (i) => is(i, "assistant") && !["error", "aborted"].includes(path[i].message.stopReason);
	let at = path.length - 1;
	while (at >= 0 && !is(at, "user") && !answers(at)) at--;
	if (at < 0 || answers(at)) return Infinity;
	let first = at;
	for (; at >= 0 && !is(at, "assistant") && !is(at, "toolResult"); at--) if (is(at, "user")) first = at;
	return first;
}

/** Whether a tool result comes next, after calls. */
function partsCall(path, visible, cut) {
	if (roleOf(path[cut]) === "assistant") return false;
	const acts = (entry) => ["assistant", "toolResult"].includes(roleOf(entry));
	const later = path.slice(cut + 1).find((entry) => visible(entry) && acts(entry));
	const earlier = path.slice(0, cut).findLast((entry) => roleOf(entry) === "assistant");
	return roleOf(later ?? {}) === "toolResult" && (earlier?.message.content ?? []).some?.((block) => block?.type === "toolCall") === true;
}

function limits(pi, r) {
	const out = [];
	for (let i = 0; i < 200; i++) {
		const window = r.pick([64_000, 128_000, 200_000, 1_000_000]);
		const reserve = r.pick([1000, 16_384, 30_000]);
		const tokens = window - reserve + r.pick([-5000, -1, 1, 5000]); // exactly at the limit, Osier compacts and pi does not
		out.push({ tokens, window, reserve, answer: pi.shouldCompact(tokens, window, { enabled: true, reserveTokens: reserve, keepRecentTokens: 1 }) });
	}
	return out;
}
