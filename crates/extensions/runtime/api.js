// `pi`, the argument of an extension's factory.

import { events } from "osier:bus.js";
import { call, callerPlace, errorMessage, handle, native, notice, report, request } from "osier:primitives.js";
import { requireModule } from "osier:commonjs.js";
import { createContext, customMessage } from "osier:context.js";
import { bound } from "osier:lifetime.js";
import { on } from "osier:events.js";

// These parts are loaded when an extension first uses them.
const registerProvider = (...args) => requireModule("osier:providers.js").registerProvider(...args);
const unregisterProvider = (...args) => requireModule("osier:providers.js").unregisterProvider(...args);
const registerRenderer = (...args) => requireModule("osier:renderers.js").registerRenderer(...args);
const registerTool = (...args) => requireModule("osier:tools.js").registerTool(...args);
const unsupported = (name) => requireModule("osier:screen.js").unsupported(name);

let loading = true;
/** From now on, actions are possible. */
export function finishLoading() {
	loading = false;
}

function action(run) {
	return (...args) => {
		if (loading) {
			throw new Error(
				"Extension runtime not initialized. Action methods cannot be called during extension loading.",
			);
		}
		return run(...args);
	};
}

const commands = new Map();
const shortcuts = new Map();
const flags = new Map();

function registerCommand(name, options) {
	const id = String(name ?? "").trim();
	if (!id) throw new Error("The name of a command is empty");
	if (typeof options?.handler !== "function") throw new Error(`The command "${id}" has no handler`);
	commands.set(id, options);
	const completes = typeof options.getArgumentCompletions === "function";
	notice("registerCommand", { name: id, description: options.description, completes, place: callerPlace() });
}

/** A handler with one parameter gets the context, if its source uses a member of the context on it, else the arguments. */
const wantsContextOnly = (handler) => handler.length === 1 && native.isContext(Function.prototype.toString.call(handler));

handle("command", async ({ name, args }, controller) => {
	const command = commands.get(name);
	if (!command) throw new Error(`unknown command ${name}`);
	const ctx = createContext({ command: true, args, signal: controller.signal });
	const returned = await (wantsContextOnly(command.handler) ? command.handler(ctx) : command.handler(args, ctx));
	return typeof returned === "string" ? { prompt: returned } : null;
});

handle("completions", async ({ name, prefix }) => {
	const found = await commands.get(name)?.getArgumentCompletions?.(prefix);
	return (found ?? []).map((item) => (typeof item === "string" ? { value: item, label: item } : item));
});

handle("shortcut", async ({ key }, controller) => {
	await shortcuts.get(key)?.handler(createContext({ signal: controller.signal }));
	return null;
});

const later = (method, params) => {
	request(method, params).catch((error) => report(error));
};
/** Done when this returns. A failure is reported, as in pi. */
const now = (method, params) => {
	try {
		call(method, params);
	} catch (error) {
		report(error);
	}
};

async function exec(program, args = [], options = {}) {
	const { signal, cwd, timeout, maxBuffer } = options;
	try {
		const params = { program: String(program), args: [...args].map(String), cwd, timeout, maxBuffer };
		return await request("exec", params, signal);
	} catch (error) {
		return { stdout: "", stderr: errorMessage(error), code: 1, killed: false, truncated: false };
	}
}

export function createApi() {
	const pi = {
		on,
		registerCommand,
		registerTool,
		events,
		exec,
		registerShortcut(key, options) {
			shortcuts.set(String(key), options);
			notice("registerShortcut", { key: String(key), description: options?.description, place: callerPlace() });
		},
		registerFlag(name, options = {}) {
			flags.set(name, options);
			notice("registerFlag", { name, type: options.type, default: options.default, description: options.description });
		},
		getFlag(name) {
			if (!flags.has(name)) return undefined;
			const known = loading ? undefined : call("flag", { name });
			return known ?? flags.get(name).default;
		},
		registerMessageRenderer: (type, renderer) => registerRenderer("message", type, renderer),
		registerCustomMessageRenderer: (type, renderer) => registerRenderer("message", type, renderer),
		registerEntryRenderer: (type, renderer) => registerRenderer("entry", type, renderer),
		registerToolRenderer: (resolver) => requireModule("osier:renderers.js").registerToolRenderer(resolver),
		registerMarkdownTransformer: () => unsupported("pi.registerMarkdownTransformer"),
		registerProvider,
		unregisterProvider,
		registerVirtualModel: (definition) => requireModule("osier:virtual-models.js").registerVirtualModel(definition),
		unregisterVirtualModel: (provider, id) => requireModule("osier:virtual-models.js").unregisterVirtualModel(provider, id),
		registerMcpServer: () => unsupported("pi.registerMcpServer"),
		unregisterMcpServer: () => {},
		getMcpServers: () => [],
		getSettings() {
			unsupported("pi.getSettings");
			return {};
		},
		appendEntry: action((customType, data) => {
			call("session.append", { type: "custom", customType: String(customType), data });
		}),
		sendMessage: action((message, options) => {
			const { triggerTurn, deliverAs } = options === true ? { triggerTurn: true } : (options ?? {});
			now("agent.postMessage", { message: customMessage(message), triggerTurn, deliverAs });
		}),
		sendUserMessage: action((content, options = {}) => {
			later("agent.sendUserMessage", { content, deliverAs: options.deliverAs, expandPromptTemplates: !!options.expandPromptTemplates });
		}),
		setLabel: action((id, label) => call("session.label", { id, label })),
		getSessionName: action(() => call("session.name", {}) ?? undefined),
		setSessionName: action((name) => call("session.rename", { name: String(name) })),
		getActiveTools: action(() => call("tools.active", {})),
		getAllTools: action(() => call("tools.all", {})),
		setActiveTools: action((names) => call("tools.setActive", { names: [...names].map(String) })),
		getCommands: action(() => call("commands", {})),
		getThinkingLevel: action(() => call("agent.state", {}).thinkingLevel),
		setThinkingLevel: action((level) => now("agent.setThinkingLevel", { level })),
		setModel: action((model) => request("agent.setModel", { model: `${model.provider}/${model.id}` })),
	};
	for (const [name, member] of Object.entries(pi)) if (typeof member === "function") pi[name] = bound(member);
	return pi;
}
