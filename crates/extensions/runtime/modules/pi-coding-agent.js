// What extensions import from pi-coding-agent. Sessions and settings of an extension's own are not available.

import { environment } from "osier:context.js";
import { sessionManager } from "osier:session.js";

export * from "osier:modules/pi-coding-agent/text.js";
export * from "osier:modules/pi-coding-agent/conversation.js";
export * from "osier:modules/pi-coding-agent/built-in-tools.js";
export * from "osier:modules/pi-coding-agent/components.js";
export { theme } from "osier:ui.js";

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

function unavailable(name, instead) {
	return () => {
		throw new Error(`${name} is not available in Osier's extensions${instead ? `; ${instead}` : ""}`);
	};
}
export const createAgentSession = unavailable("createAgentSession", "start `osier -p` as a program");
export const createAgentSessionRuntime = unavailable("createAgentSessionRuntime");
export const createAgentSessionServices = unavailable("createAgentSessionServices");
export const resolveCliModel = unavailable("resolveCliModel", "use ctx.modelRegistry.find");
const notConstructible = (name, instead) => {
	const create = unavailable(name, instead);
	return class {
		constructor() {
			create();
		}
	};
};
export const DefaultResourceLoader = notConstructible("DefaultResourceLoader");
export const ModelRuntime = notConstructible("ModelRuntime");
export const ModelRegistry = notConstructible("ModelRegistry", "use ctx.modelRegistry");
export const AuthStorage = notConstructible("AuthStorage", "Osier keeps the keys");

/** Only the session of the extension is available. */
export class SessionManager {
	static inMemory = unavailable("SessionManager.inMemory", "use ctx.sessionManager");
	static open = unavailable("SessionManager.open", "use ctx.switchSession");
	static create = unavailable("SessionManager.create", "use ctx.newSession");
	static continueRecent = unavailable("SessionManager.continueRecent");
	static forkFrom = unavailable("SessionManager.forkFrom", "use ctx.fork");
	static list = async () => [];
	static listAll = async () => [];
	static current = () => sessionManager;
}

/** An extension sees no settings of Osier. These are its own, for as long as it runs. */
export class SettingsManager {
	#values;
	constructor(values = {}) {
		this.#values = { ...values };
	}
	static create() {
		return new SettingsManager();
	}
	static inMemory(values) {
		return new SettingsManager(values);
	}
	getGlobalSettings() {
		return { ...this.#values };
	}
	getProjectSettings() {
		return {};
	}
	applyOverrides(values) {
		Object.assign(this.#values, values);
	}
	async reload() {}
	async flush() {}
	getDefaultProvider() {
		return undefined;
	}
	getDefaultModel() {
		return undefined;
	}
	getTheme() {
		return undefined;
	}
	getCompactionSettings() {
		return { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };
	}
	getShellPath() {
		return undefined;
	}
	getShellCommandPrefix() {
		return undefined;
	}
}
export const getShellConfig = () => ({ shell: "/bin/sh", args: ["-c"] });
export const getPackageDir = () => environment().agentDir;
export const loadSkills = () => ({ skills: [], diagnostics: [] });
export const formatSkillsForPrompt = () => "";
export const getProjectConfigDir = (cwd) => `${cwd}/${CONFIG_DIR_NAME}`;
