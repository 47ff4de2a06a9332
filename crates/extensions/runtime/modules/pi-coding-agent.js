// What extensions import from pi-coding-agent. Sessions and settings of an extension's own are not available.

import { requireModule } from "osier:commonjs.js";
import { environment } from "osier:context.js";
import { modelRegistry } from "osier:models.js";
import { MemorySession } from "osier:modules/pi-coding-agent/memory-session.js";
import { sessionManager } from "osier:session.js";

export * from "osier:modules/pi-coding-agent/text.js";
export * from "osier:modules/pi-coding-agent/conversation.js";
export * from "osier:modules/pi-coding-agent/built-in-tools.js";
export * from "osier:modules/pi-coding-agent/components.js";
export * from "osier:modules/pi-coding-agent/diff.js";
export * from "osier:modules/pi-coding-agent/settings.js";
export * from "osier:modules/pi-coding-agent/skills.js";
export {
	collectEntriesForBranchSummary, compact, DEFAULT_COMPACTION_SETTINGS, estimateContextTokens, findCutPoint, findTurnStartIndex, generateBranchSummary,
	generateSummary, generateSummaryWithUsage, prepareBranchEntries, prepareCompaction,
} from "osier:modules/pi-coding-agent/summaries.js";
export * from "osier:modules/pi-coding-agent/sdk.js";
export { theme } from "osier:theme.js";

export const VERSION = "1.5.0";
export const CONFIG_DIR_NAME = ".osier";

/** The folder that an extension may use for its own files. */
export const getAgentDir = () => environment().agentDir;

export const defineTool = (definition) => definition;
export const isToolCallEventType = (name, event) => event?.toolName === name;
const isResultOf = (name) => (event) => event?.toolName === name;
export const isBashToolResult = isResultOf("bash");
export const isReadToolResult = isResultOf("read");
export const isEditToolResult = isResultOf("edit");
export const isWriteToolResult = isResultOf("write");
export const isGrepToolResult = isResultOf("grep");
export const isFindToolResult = isResultOf("find");
export const isLsToolResult = isResultOf("ls");
export const isPowerShellToolResult = isResultOf("powershell");

export function createEventBus() {
	const handlers = new Map();
	return {
		on(name, handler) {
			handlers.set(name, [...(handlers.get(name) ?? []), handler]);
			return () => handlers.set(name, handlers.get(name).filter((known) => known !== handler));
		},
		emit(name, data) {
			for (const handler of handlers.get(name) ?? []) handler(data);
		},
	};
}

const queues = new Map();
/** Runs changes of one file one after another. */
export function withFileMutationQueue(path, run) {
	const before = queues.get(path) ?? Promise.resolve();
	const next = before.then(run, run);
	queues.set(path, next.catch(() => {}));
	return next;
}

export async function copyToClipboard(text) {
	const { spawnSync } = await import("osier:node/child_process.js");
	const programs = [["pbcopy"], ["wl-copy"], ["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]];
	if (!programs.some(([program, ...args]) => spawnSync(program, args, { input: text }).status === 0)) {
		throw new Error("No program for the clipboard was found: install wl-copy, xclip or xsel");
	}
}

const files = () => requireModule("osier:modules/pi-coding-agent/file-session.js").FileSession;
const ownFolder = () => `${getAgentDir()}/sessions`;

/** Sessions in memory, and in files that the extension may use. Osier's own sessions are closed to extensions. */
export class SessionManager {
	static inMemory = (cwd = environment().cwd) => new MemorySession(cwd);
	static open = (file) => files().open(file);
	static create = (cwd = environment().cwd, folder = ownFolder()) => files().create(cwd, folder);
	static continueRecent(cwd = environment().cwd, folder = ownFolder()) {
		const [newest] = files().list(folder);
		return newest ? files().open(newest.path) : files().create(cwd, folder);
	}
	static forkFrom = (file, cwd = environment().cwd, folder = ownFolder()) => files().forkFrom(file, cwd, folder);
	static list = async (_cwd, folder = ownFolder()) => files().list(folder);
	static listAll = async () => files().list(ownFolder());
	static current = () => sessionManager;
}

export const getShellConfig = () => ({ shell: "/bin/sh", args: ["-c"] });
export const getPackageDir = () => environment().agentDir;

/** The model that the text of a command line means: `provider/id`, an id, or a part of an id or a name, and perhaps a thinking level. */
export function resolveCliModel({ cliProvider, cliModel }) {
	const fail = (error) => ({ model: undefined, warning: undefined, error });
	if (!cliModel) return { model: undefined, warning: undefined, error: undefined };
	const models = modelRegistry.getAvailable().filter(({ provider }) => !cliProvider || provider === cliProvider);
	const find = (text) => {
		const wanted = text.toLowerCase();
		const names = ({ provider, id, name }) => [`${provider}/${id}`, id, name ?? id].map((known) => known.toLowerCase());
		return models.find((model) => names(model).includes(wanted)) ?? models.find((model) => names(model).some((known) => known.includes(wanted)));
	};
	const [, before, level] = cliModel.match(/^(.+):(off|minimal|low|medium|high|xhigh|max)$/) ?? [];
	const exact = find(cliModel);
	const model = exact ?? (before && find(before));
	if (!model) return fail(`Model "${cliProvider ? `${cliProvider}/` : ""}${cliModel}" not found.`);
	return { model, thinkingLevel: exact ? undefined : level, warning: undefined, error: undefined };
}
export const getProjectConfigDir = (cwd) => `${cwd}/${CONFIG_DIR_NAME}`;
export const getReadmePath = () => `${getPackageDir()}/README.md`;
export const getDocsPath = () => `${getPackageDir()}/docs`;
export const getExamplesPath = () => `${getPackageDir()}/examples`;
