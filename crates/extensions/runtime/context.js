// `ctx`, the second argument of handlers. Members are read when they are used.

import { call, notice, request } from "osier:primitives.js";
import { sessionManager } from "osier:session.js";
import { modelRegistry } from "osier:models.js";
import { ui } from "osier:ui.js";

let current = { cwd: "/", mode: "print", hasUI: false };

/** What does not change while the extension runs. */
export const environment = () => current;
export function setEnvironment(values) {
	current = values;
}

const state = () => call("agent.state", {});

const members = {
	ui: () => ui,
	hasUI: () => current.hasUI,
	mode: () => current.mode,
	cwd: () => current.cwd,
	sessionManager: () => sessionManager,
	modelRegistry: () => modelRegistry,
	model: () => state().model ?? undefined,
	thinkingLevel: () => state().thinkingLevel,
	scopedModels: () => [],
};

const functions = {
	isIdle: () => state().isIdle,
	hasPendingMessages: () => state().hasPendingMessages,
	isProjectTrusted: () => current.isProjectTrusted,
	getContextUsage: () => call("agent.contextUsage", {}) ?? undefined,
	getSystemPrompt: () => call("agent.systemPrompt", {}),
	abort: () => notice("agent.abort", {}),
	shutdown: () => notice("agent.shutdown", {}),
	compact: (options = {}) => {
		request("agent.compact", { customInstructions: options.customInstructions }).then(options.onComplete, (error) =>
			options.onError?.(error),
		);
	},
};

const commandFunctions = {
	waitForIdle: () => request("agent.waitForIdle", {}),
	reload: () => request("agent.reload", {}),
	navigateTree: (targetId, options = {}) => request("agent.navigateTree", { ...options, targetId }),
	fork: (entryId, options = {}) => request("agent.fork", { entryId, position: options.position }),
	newSession: (options = {}) => request("agent.newSession", { parentSession: options.parentSession }),
	switchSession: (path) => request("agent.switchSession", { path }),
	getSystemPromptOptions: () => call("agent.systemPromptOptions", {}),
};

/** `signal` is that of the event; `command` adds what only commands may do. */
export function createContext({ signal, command, args } = {}) {
	const ctx = { ...functions, ...(command ? commandFunctions : {}) };
	for (const [name, get] of Object.entries(members)) {
		Object.defineProperty(ctx, name, { get, enumerable: true, configurable: true });
	}
	Object.defineProperty(ctx, "signal", { get: () => signal, enumerable: true, configurable: true });
	if (args !== undefined) ctx.args = args;
	return ctx;
}
