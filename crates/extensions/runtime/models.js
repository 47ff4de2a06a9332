// `ctx.modelRegistry`: the models that Osier knows. Keys leave Osier only if the user agrees.

import { requireModule } from "osier:commonjs.js";
import { call, handle, request } from "osier:primitives.js";

/** The models that can be used now, and all that are known. */
const usable = () => call("models.list", {});
const all = () => call("models.all", {});
const isSame = (model) => (known) => known.provider === model?.provider && known.id === model?.id;

/** What an extension gets that may not have the key. Osier adds the real one to the calls that it makes through Osier. */
const managedAuth = { apiKey: "managed-by-osier", headers: {} };

/** The key and the headers of a provider that has usable models. The user is asked once for each version of the extension. */
async function accessTo(name) {
	if (!usable().some(({ provider }) => provider === name)) return undefined;
	const access = await request("models.access", { provider: name });
	return access ? { apiKey: access.apiKey ?? undefined, headers: access.headers } : managedAuth;
}

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
	getProviderAuth: async (name) => ({ ok: true, ...((await accessTo(name)) ?? managedAuth) }),
	getProviderAuthStatus: (name) => ({ configured: usable().some((model) => model.provider === name), source: "osier" }),
	hasConfiguredAuth: (model) => usable().some(isSame(model)),
	isUsingOAuth: () => false,
	refresh: () => requireModule("osier:providers.js").refreshProviders(),
	getError: () => undefined,
	getApiKey: async (model) => (await accessTo(model?.provider))?.apiKey,
	getApiKeyForProvider: async (name) => (await accessTo(name))?.apiKey,
	getApiKeyAndHeaders: async (model) => {
		const access = await accessTo(model?.provider);
		return access ? { ok: true, ...access } : { ok: false, error: `No API key for ${model?.provider}` };
	},
	authStorage: {
		get: () => undefined,
		has: () => false,
		hasAuth: (name) => usable().some(({ provider }) => provider === name),
		list: () => [],
		getApiKey: async (name) => (await accessTo(name))?.apiKey,
		set: () => requireModule("osier:screen.js").unsupported("modelRegistry.authStorage.set"),
		remove: () => requireModule("osier:screen.js").unsupported("modelRegistry.authStorage.remove"),
	},
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
