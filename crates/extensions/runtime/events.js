// Event handlers. Osier chooses the handlers and their order; this file calls one at a time. An adapter turns what Osier sends
// into the event that pi documents, and what the handler did into the answer.

import { notice, handle, stringify } from "osier:primitives.js";
import { createContext } from "osier:context.js";
import { entriesById, entryById } from "osier:session.js";

const handlers = new Map();
let lastHandler = 0;

/** The old names of events. */
const ALIASES = {
	before_compact: "session_before_compact",
	before_switch: "session_before_switch",
	switch: "session_switch",
};

export function on(event, handler) {
	if (typeof handler !== "function") throw new TypeError(`The handler of "${event}" is not a function`);
	lastHandler += 1;
	const id = lastHandler;
	const name = ALIASES[event] ?? String(event);
	handlers.set(id, handler);
	notice("on", { event: name, handler: id });
	return () => {
		if (handlers.delete(id)) notice("off", { handler: id });
	};
}

/** `prepare` completes the event; `answer` is what Osier gets for the value that the handler returned. */
const ADAPTERS = {
	session_before_tree: {
		prepare(event, signal) {
			const { preparation } = event;
			preparation.entriesToSummarize = entriesById(preparation.entriesToSummarize);
			event.signal = signal;
		},
	},
	session_tree: {
		prepare(event) {
			if (event.summaryEntry) event.summaryEntry = entryById(event.summaryEntry);
			event.fromExtension = event.fromHook;
		},
	},
	session_before_compact: {
		prepare(event, signal) {
			const { preparation } = event;
			event.branchEntries = entriesById(event.branchEntries);
			event.previousCompactions = entriesById(event.previousCompactions);
			preparation.messagesToSummarize = messagesOf(preparation.messagesToSummarize);
			preparation.turnPrefixMessages = messagesOf(preparation.turnPrefixMessages);
			event.signal = signal;
		},
	},
	session_compact: {
		prepare(event) {
			event.compactionEntry = entryById(event.compactionEntry);
			event.fromExtension = event.fromHook;
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
		},
	},
	context: {
		// A handler may edit the array in place.
		answer(event, returned, before) {
			if (Array.isArray(returned?.messages)) return { messages: returned.messages };
			const now = stringify(event.messages);
			return now === before.messages ? null : { messages: event.messages };
		},
		before: (event) => ({ messages: stringify(event.messages) }),
	},
	tool_call: {
		answer: (event, returned) => ({ ...plain(returned), input: event.input }),
	},
	before_provider_request: {
		answer: (event, returned) => (returned === undefined ? null : { payload: returned }),
	},
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

handle("event", async ({ handler: id, event }, controller) => {
	const handler = handlers.get(id);
	if (!handler) return null;
	const adapter = ADAPTERS[event.type] ?? {};
	adapter.prepare?.(event, controller.signal);
	const before = adapter.before?.(event);
	const returned = await handler(event, createContext({ signal: controller.signal }));
	return adapter.answer ? adapter.answer(event, returned, before) : (returned ?? null);
});
