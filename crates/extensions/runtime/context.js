// `ctx`, the second argument of handlers. Members are read when they are used.

import { call, notice, request } from "osier:primitives.js";
import { requireModule } from "osier:commonjs.js";
import { bound, checkCurrent, sessionNumber, startNextSession } from "osier:lifetime.js";

let current = { cwd: "/", mode: "print", hasUI: false };

/** What does not change while the extension runs. */
export const environment = () => current;
export function setEnvironment(values) {
	current = values;
}

const state = () => call("agent.state", {});

const members = {
	ui: () => requireModule("osier:ui.js").ui,
	hasUI: () => current.hasUI,
	mode: () => current.mode,
	cwd: () => current.cwd,
	sessionManager: () => requireModule("osier:session.js").sessionManager,
	modelRegistry: () => requireModule("osier:models.js").modelRegistry,
	model: () => state().model ?? undefined,
	thinkingLevel: () => state().thinkingLevel,
	scopedModels: () => [],
};

/** What the last compaction of the path did, as the callback of `compact` gets it. */
function lastCompaction() {
	const branch = requireModule("osier:session.js").sessionManager.getBranch();
	const { summary, firstKeptEntryId, tokensBefore, details, usage } = branch.findLast(({ type }) => type === "compaction") ?? {};
	return { summary, firstKeptEntryId, tokensBefore, details, usage };
}

const functions = {
	isIdle: () => state().isIdle,
	hasPendingMessages: () => state().hasPendingMessages,
	isProjectTrusted: () => current.isProjectTrusted,
	getContextUsage: () => call("agent.contextUsage", {}) ?? undefined,
	getSystemPrompt: () => call("agent.systemPrompt", {}),
	abort: () => notice("agent.abort", {}),
	shutdown: () => notice("agent.shutdown", {}),
	compact: (options = {}) => {
		request("agent.compact", { customInstructions: options.customInstructions }).then(
			() => options.onComplete?.(lastCompaction()),
			(error) => options.onError?.(error),
		);
	},
};

const commandFunctions = {
	waitForIdle: () => request("agent.waitForIdle", {}),
	reload: () => request("agent.reload", {}),
	navigateTree: (targetId, options = {}) => request("agent.navigateTree", { ...options, targetId }),
	fork: (entryId, options = {}) => replaceSession("agent.fork", { entryId, position: options.position }, options),
	newSession: (options = {}) => replaceSession("agent.newSession", {}, options),
	switchSession: (path, options = {}) => replaceSession("agent.switchSession", { path: String(path) }, options),
	/** A copy: changes have no effect. */
	getSystemPromptOptions: () => call("agent.systemPromptOptions", {}),
};

/** Opens another session. What the callbacks do concerns that one. */
async function replaceSession(method, params, { setup, withSession } = {}) {
	const { cancelled } = await request(method, params);
	if (cancelled) return { cancelled: true };
	startNextSession();
	const { forgetSession, sessionManager } = requireModule("osier:session.js");
	forgetSession();
	if (setup) await setup(sessionManager);
	if (withSession) await withSession(createContext({ command: true, replaced: true }));
	return { cancelled: false };
}

/** A message as Osier stores it. Packages leave parts out. */
export const customMessage = (message) => ({ ...message, customType: String(message?.customType ?? "message"), content: message?.content ?? "" });

const sending = {
	sendMessage: (message, options = {}) => request("agent.sendMessage", { message: customMessage(message), triggerTurn: options.triggerTurn, deliverAs: options.deliverAs }),
	sendUserMessage: (content, options = {}) => request("agent.sendUserMessage", { content, deliverAs: options.deliverAs, expandPromptTemplates: !!options.expandPromptTemplates }),
};

/** How a context of one kind behaves, until the session is replaced. Every event has a context, so its members are not copied. */
const known = { number: -1, kinds: new Map() };
const { hasOwn } = Object;
const { getOwnPropertyDescriptor, ownKeys } = Reflect;

function behaviorOf(kind) {
	const number = sessionNumber();
	if (known.number !== number) {
		known.number = number;
		known.kinds.clear();
	}
	if (!known.kinds.has(kind)) known.kinds.set(kind, createBehavior(kind));
	return known.kinds.get(kind);
}

function createBehavior(kind) {
	const shared = { __proto__: null };
	const all = { ...functions, ...(kind === "plain" ? {} : commandFunctions), ...(kind === "replaced" ? sending : {}) };
	for (const [name, run] of Object.entries(all)) shared[name] = { __proto__: null, value: bound(run), enumerable: true, configurable: true, writable: true };
	for (const [name, read] of Object.entries(members)) shared[name] = { __proto__: null, get: bound(read), set: undefined, enumerable: true, configurable: true };
	return {
		__proto__: null,
		get(own, name) {
			const member = hasOwn(own, name) ? undefined : shared[name];
			if (member === undefined) return own[name];
			return member.get ? member.get() : member.value;
		},
		has: (own, name) => name in own || name in shared,
		ownKeys: (own) => [...new Set([...ownKeys(shared), ...ownKeys(own)])],
		getOwnPropertyDescriptor: (own, name) => getOwnPropertyDescriptor(own, name) ?? shared[name],
	};
}

/** `signal`, or that of `controller`, is the one of the event; `command` adds what only commands may do. */
export function createContext({ signal, controller, command, args, replaced } = {}) {
	const number = sessionNumber();
	const own = {
		get signal() {
			checkCurrent(number);
			return controller ? controller.signal : signal;
		},
	};
	if (args !== undefined) own.args = args;
	return new Proxy(own, behaviorOf(replaced ? "replaced" : command ? "command" : "plain"));
}
