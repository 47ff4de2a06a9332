// `pi.registerVirtualModel`: a model that chooses another one for each request. For Osier it is a model that its extension streams.

import { createContext } from "osier:context.js";
import { stream } from "osier:modules/pi-ai.js";
import { call } from "osier:primitives.js";
import { registerProvider, unregisterProvider } from "osier:providers.js";
import { sessionManager } from "osier:session.js";

/** What a router keeps on the path. */
const STATE = "virtual-model-state";
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/** The definitions of each provider, by id. */
const providers = new Map();
/** What each model chose last. */
const previous = new Map();

export function registerVirtualModel(definition) {
	const { provider, id, route } = definition ?? {};
	if (!provider || !id || typeof route !== "function") throw new Error("A virtual model needs a provider, an id and the function route");
	if (!providers.has(provider)) providers.set(provider, new Map());
	providers.get(provider).set(id, definition);
	announce(provider);
}

export function unregisterVirtualModel(provider, id) {
	if (providers.get(provider)?.delete(id)) announce(provider);
}

function announce(provider) {
	const definitions = providers.get(provider);
	if (!definitions.size) return unregisterProvider(provider);
	const streamSimple = (model, context, options) => sendRouted(definitions.get(model.id), model, context, options);
	registerProvider(provider, { models: [...definitions.values()].map(describe), streamSimple, isVirtual: true });
}

function describe({ id, name, thinkingLevels = ["off"], contextWindow, maxTokens, input = ["text", "image"] }) {
	const thinkingLevelMap = Object.fromEntries(LEVELS.map((level) => [level, thinkingLevels.includes(level) ? level : null]));
	return { id, name: name ?? id, input, contextWindow, maxTokens, reasoning: thinkingLevels.some((level) => level !== "off"), thinkingLevelMap };
}

async function sendRouted(definition, model, context, options) {
	const { provider, id } = model;
	const key = `${provider}/${id}`;
	const isOwn = ({ type, customType, data }) => type === "custom" && customType === STATE && data?.provider === provider && data?.id === id;
	const state = sessionManager.getBranch().findLast(isOwn)?.data.state;
	const reason = context.messages.at(-1)?.role === "user" ? "user" : "continuation";
	const request = { model, thinkingLevel: options.reasoning ?? "off", reason, messages: context.messages, previous: previous.get(key), state, signal: options.signal };
	const chosen = await definition.route(request, createContext({ signal: options.signal }));
	if (!chosen?.model) throw new Error(`the virtual model ${key} chose no model`);
	if (providers.get(chosen.model.provider)?.has(chosen.model.id)) throw new Error(`the virtual model ${key} chose the virtual model ${chosen.model.provider}/${chosen.model.id}`);
	if (chosen.state !== undefined && chosen.state !== state) call("session.append", { type: "custom", customType: STATE, data: { provider, id, state: chosen.state } });
	previous.set(key, { model: chosen.model, thinkingLevel: chosen.thinkingLevel });
	const reasoning = chosen.thinkingLevel === "off" ? undefined : chosen.thinkingLevel;
	return stream(chosen.model, context, { ...options, reasoning });
}
