// Event handlers. Osier chooses the handlers and their order; this file calls one at a time. An adapter turns what Osier sends
// into the event that pi documents, and what the handler did into the answer.

import { requireModule } from "osier:commonjs.js";
import { callerPlace, handle, isPromise, notice, stringify } from "osier:primitives.js";
import { createContext, customMessage } from "osier:context.js";

const entryById = (id) => requireModule("osier:session.js").entryById(id);
const entriesById = (ids) => requireModule("osier:session.js").entriesById(ids);

const handlers = new Map();
let lastHandler = 0;

/** The old names of events. */
const ALIASES = {
	before_compact: "session_before_compact",
	before_switch: "session_before_switch",
	switch: "session_switch",
};

/** Events of pi that Osier does not send. */
const NOT_SENT = ["cache_warming_decision", "mcp_servers_change", "project_trust"];
const unsupported = (name) => requireModule("osier:screen.js").unsupported(name);

export function on(event, handler) {
	if (typeof handler !== "function") throw new TypeError(`The handler of "${event}" is not a function`);
	lastHandler += 1;
	const id = lastHandler;
	const name = ALIASES[event] ?? String(event);
	if (NOT_SENT.includes(name)) unsupported(`pi.on("${name}")`);
	handlers.set(id, handler);
	notice("on", { event: name, handler: id, place: callerPlace() });
	return () => {
		if (handlers.delete(id)) notice("off", { handler: id });
	};
}

/** A handler may also edit the array in place. */
const EDITED_MESSAGES = {
	answer(event, returned, before) {
		if (Array.isArray(returned?.messages)) return { messages: returned.messages };
		const now = stringify(event.messages);
		return now === before.messages ? null : { messages: event.messages };
	},
	before: (event) => ({ messages: stringify(event.messages) }),
};

/** Where entries are proposed: `context` is what the model would get if they were stored. It is made when it is read. */
function completeBoundary(event) {
	const get = () => requireModule("osier:session.js").previewContext(event.entries ?? [], event.type);
	Object.defineProperty(event, "context", { get, enumerable: true, configurable: true });
}

/** `prepare` completes the event; `answer` is what Osier gets for the value that the handler returned. */
const ADAPTERS = {
	session_before_tree: {
		prepare(event, controller) {
			const { preparation } = event;
			preparation.entriesToSummarize = entriesById(preparation.entriesToSummarize);
			event.signal = controller.signal;
		},
	},
	session_tree: {
		prepare(event) {
			if (event.summaryEntry) event.summaryEntry = entryById(event.summaryEntry);
			event.fromExtension = event.fromHook;
		},
	},
	session_before_compact: {
		prepare(event, controller) {
			const { preparation } = event;
			event.branchEntries = entriesById(event.branchEntries);
			event.previousCompactions = entriesById(event.previousCompactions);
			preparation.messagesToSummarize = messagesOf(preparation.messagesToSummarize);
			preparation.turnPrefixMessages = messagesOf(preparation.turnPrefixMessages);
			const { fileOperations } = requireModule("osier:modules/pi-coding-agent/summaries.js");
			preparation.fileOps = fileOperations([...preparation.messagesToSummarize, ...preparation.turnPrefixMessages]);
			event.signal = controller.signal;
		},
	},
	session_compact: {
		prepare(event) {
			event.compactionEntry = entryById(event.compactionEntry);
			event.fromExtension = event.fromHook;
		},
	},
	session_compact_failed: {
		prepare(event) {
			if (!event.aborted) event.errorMessage = event.error;
			event.fromExtension = event.fromHook;
		},
	},
	message_update: {
		prepare(event) {
			const piece = event.assistantMessageEvent;
			if (piece.block !== undefined) piece.contentIndex = piece.block;
			delete piece.block;
			piece.partial = event.message;
		},
	},
	agent_end: {
		prepare(event) {
			event.messages = messagesOf(event.entries);
			delete event.entries;
		},
	},
	turn_end: {
		prepare(event) {
			event.message = entryById(event.messageEntryId)?.message;
			event.toolResults = messagesOf(event.toolResultEntryIds);
			const { stopReason } = event.message ?? {};
			event.outcome = stopReason === "aborted" || stopReason === "error" ? stopReason : "completed";
			completeBoundary(event);
		},
	},
	agent_before_settle: {
		prepare(event) {
			event.outcome = { cancelled: "aborted", failed: "error" }[event.outcome] ?? "completed";
			completeBoundary(event);
		},
	},
	before_agent_start: {
		// A handler may edit the options in place.
		before: (event) => stringify(event.systemPromptOptions),
		answer(event, returned, before) {
			const options = event.systemPromptOptions;
			const { message, systemPrompt } = plain(returned);
			return { systemPrompt, message: message && customMessage(message), options: stringify(options) === before ? undefined : options };
		},
	},
	context: EDITED_MESSAGES,
	context_with_system: EDITED_MESSAGES,
	tool_call: {
		answer: (event, returned) => ({ ...plain(returned), input: event.input }),
	},
	before_provider_request: {
		answer: (event, returned) => (returned === undefined ? null : { payload: returned }),
	},
	resources_discover: {
		answer(event, returned) {
			if (returned?.themePaths?.length) unsupported("pi.on(\"resources_discover\"): themePaths");
			return returned ?? null;
		},
	},
	user_bash: { answer: (event, returned, _before, controller) => runUserCommand(event, returned, controller.signal) },
	before_provider_headers: {
		answer: (event) => ({ headers: event.headers }),
	},
};

const plain = (value) => (value !== null && typeof value === "object" ? value : {});

/** The messages of entries. pi stores no system prompt, so its extensions do not expect one. */
function messagesOf(ids) {
	return entriesById(ids ?? [])
		.map((entry) => entry.message ?? (entry.type === "custom_message" ? { role: "custom", ...entry } : undefined))
		.filter((message) => message && message.role !== "system");
}

/** The result of a shell command: the one that a handler returned, or what its `operations` do. */
async function runUserCommand({ command, cwd }, returned, signal) {
	if (returned === undefined || returned === null) return null;
	if (typeof returned.operations?.exec !== "function") return returned;
	const chunks = [];
	const onData = (data) => chunks.push(typeof data === "string" ? data : new TextDecoder().decode(data));
	try {
		const { exitCode } = await returned.operations.exec(command, cwd, { onData, signal });
		return { result: { output: chunks.join(""), exitCode: exitCode ?? undefined, cancelled: !!signal?.aborted, truncated: false } };
	} catch (error) {
		if (!signal?.aborted) throw error;
		return { result: { output: chunks.join(""), cancelled: true, truncated: false } };
	}
}

handle("event", ({ handler: id, event }, controller) => {
	const handler = handlers.get(id);
	if (!handler) return null;
	const adapter = ADAPTERS[event.type] ?? {};
	adapter.prepare?.(event, controller);
	const before = adapter.before?.(event);
	const answer = (returned) => (adapter.answer ? adapter.answer(event, returned, before, controller) : (returned ?? null));
	const returned = handler(event, createContext({ controller }));
	return isPromise(returned) ? Promise.resolve(returned).then(answer) : answer(returned);
});
