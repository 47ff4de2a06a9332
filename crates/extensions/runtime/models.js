// `ctx.modelRegistry`: the models that Osier knows. Keys never leave Osier.

import { requireModule } from "osier:commonjs.js";
import { call, handle, request } from "osier:primitives.js";

/** The models that can be used now, and all that are known. */
const usable = () => call("models.list", {});
const all = () => call("models.all", {});
const isSame = (model) => (known) => known.provider === model?.provider && known.id === model?.id;

/** Extensions never get a key. Osier adds the real one to the calls that they make through it. */
const managedAuth = { ok: true, apiKey: "managed-by-osier", headers: {} };

function plainMessages(messages) {
	return (messages ?? []).map((message) => (typeof message.content === "string" ? { ...message, content: [{ type: "text", text: message.content }] } : message));
}

/** Who gets the pieces of the replies that stream now. */
const streams = new Map();
let lastStream = 0;
handle("models.events", ({ stream, event }) => streams.get(stream)?.(event));

/** Calls a model. `onEvent` gets the pieces of the reply while it arrives. */
export async function callModel(model, context, options, onEvent) {
	const { systemPrompt, messages, tools } = context ?? {};
	const { maxTokens, reasoning, signal, replyToken } = options ?? {};
	const list = (tools ?? []).map(({ name, description, parameters }) => ({ name, description: description ?? "", parameters: parameters ?? {} }));
	const stream = onEvent ? (lastStream += 1) : undefined;
	if (onEvent) streams.set(stream, onEvent);
	try {
		const params = { model: `${model.provider}/${model.id}`, systemPrompt, messages: plainMessages(messages), tools: list, maxTokens, thinking: reasoning, stream, replyToken };
		return await request("models.complete", params, signal);
	} finally {
		streams.delete(stream);
	}
}

export const modelRegistry = {
	getAll: all,
	getAvailable: usable,
	find: (provider, id) => call("models.find", { name: `${provider}/${id}` }) ?? undefined,
	findOfType: (type, provider, id) => (type === "chat" ? modelRegistry.find(provider, id) : undefined),
	getModelOfType: (type, provider, id) => modelRegistry.findOfType(type, provider, id),
	getModelsOfType: (type) => (type === "chat" ? all() : []),
	getAvailableOfType: (type) => (type === "chat" ? usable() : []),
	registerProvider: (...args) => requireModule("osier:providers.js").registerProvider(...args),
	unregisterProvider: (name) => requireModule("osier:providers.js").unregisterProvider(name),
	getRegisteredProviderIds: () => requireModule("osier:providers.js").providerNames(),
	getRegisteredProviderConfig: (name) => requireModule("osier:providers.js").providerConfig(name),
	getRegisteredNativeProvider: () => undefined,
	getProvider: (name) => {
		const models = all().filter((model) => model.provider === name);
		return models.length ? { id: name, name, models } : undefined;
	},
	getProviderDisplayName: (name) => name,
	getProviderAuth: async () => managedAuth,
	getProviderAuthStatus: (name) => ({ configured: usable().some((model) => model.provider === name), source: "osier" }),
	hasConfiguredAuth: (model) => usable().some(isSame(model)),
	isUsingOAuth: () => false,
	refresh: () => requireModule("osier:providers.js").refreshProviders(),
	getError: () => undefined,
	getApiKey: async (model) => (usable().some(isSame(model)) ? managedAuth.apiKey : undefined),
	getApiKeyForProvider: async (name) => (usable().some((model) => model.provider === name) ? managedAuth.apiKey : undefined),
	getApiKeyAndHeaders: async (model) => (usable().some(isSame(model)) ? managedAuth : { ok: false, error: `No API key for ${model?.provider}` }),
	authStorage: { get: () => undefined, has: () => false, hasAuth: () => false, list: () => [], getApiKey: async () => undefined },
	complete: (model, context, options) => callModel(model, context, options),
	stream: (model, context, options) => requireModule("osier:modules/pi-ai.js").stream(model, context, options),
	classify: () => notAvailable("classify"),
	generateImages: () => notAvailable("generateImages"),
};
modelRegistry.completeSimple = modelRegistry.complete;
modelRegistry.streamSimple = modelRegistry.stream;

async function notAvailable(name) {
	throw new Error(`modelRegistry.${name} is not available in Osier's extensions`);
}
