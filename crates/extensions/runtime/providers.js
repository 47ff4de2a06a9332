// `pi.registerProvider`: models of an extension. Osier calls them over the network, or the extension streams replies itself.

import { requireModule } from "osier:commonjs.js";
import { handle, notice, report } from "osier:primitives.js";

const providers = new Map();

const plainModel = ({ id, name, api, baseUrl, headers, reasoning, input, cost, contextWindow, maxTokens, compat, thinkingLevelMap }) => ({ id, name, api, baseUrl, headers: headers ?? {}, reasoning, input, cost, contextWindow, maxTokens, compat, thinkingLevelMap });
/** Osier calls models of these kinds. */
const isChat = ({ type }) => type === undefined || type === "chat";

/** `registerProvider(name, config)`, or one object with everything. */
export function registerProvider(first, second) {
	const name = typeof first === "string" ? first : (first?.id ?? first?.name);
	const config = typeof first === "string" ? second : first;
	if (typeof name !== "string" || !name) throw new Error("A provider needs a name");
	if (config === null || typeof config !== "object") throw new Error(`The provider "${name}" has no configuration`);
	providers.set(name, config);
	for (const field of ["oauth", "images", "classifiers"]) {
		if (config[field]) requireModule("osier:screen.js").unsupported(`pi.registerProvider: ${field}`);
	}
	if (config.models?.some((model) => !isChat(model))) requireModule("osier:screen.js").unsupported("pi.registerProvider: models.type");
	announce(name, config);
	if (typeof config.refreshModels === "function") refreshProvider(name).catch(report);
}

function announce(name, { name: shownName, baseUrl, apiKey, api, headers, authHeader, models, streamSimple, isVirtual }) {
	notice("registerProvider", {
		id: name,
		name: shownName,
		baseUrl: baseUrl ?? models?.find((model) => model.baseUrl)?.baseUrl,
		apiKey,
		api,
		headers,
		authHeader: !!authHeader,
		models: models?.filter(isChat).map(plainModel),
		streams: typeof streamSimple === "function",
		isVirtual,
	});
}

export const providerNames = () => [...providers.keys()];
export const providerConfig = (name) => providers.get(name);

/** Asks a provider for its models, which replace those that it had. */
async function refreshProvider(name) {
	const config = providers.get(name);
	const context = { providerId: name, signal: new AbortController().signal, allowNetwork: true, force: false, publish: () => {} };
	const models = await config.refreshModels(context);
	if (!Array.isArray(models) || providers.get(name) !== config) return;
	config.models = models;
	announce(name, config);
}

/** Asks all providers of the extension for their models. */
export async function refreshProviders() {
	const names = [...providers.keys()].filter((name) => typeof providers.get(name).refreshModels === "function");
	await Promise.all(names.map(refreshProvider));
}

export function unregisterProvider(name) {
	if (providers.delete(name)) notice("unregisterProvider", { id: name });
}

/** Events are sent together, at most so often, in milliseconds. */
const INTERVAL = 10;

function createSender(token) {
	let waiting = [];
	let timer;
	const flush = () => {
		clearTimeout(timer);
		timer = undefined;
		if (waiting.length) notice("provider.events", { token, events: waiting });
		waiting = [];
	};
	return {
		push(event) {
			waiting.push(event);
			timer ??= setTimeout(flush, INTERVAL);
		},
		flush,
	};
}

/** What Osier needs of an event. The message so far is left out. */
function plainEvent({ type, contentIndex, delta, partial }) {
	const event = { type, contentIndex, delta };
	if (type === "toolcall_start") {
		const call = partial?.content?.[contentIndex];
		Object.assign(event, { id: call?.id, name: call?.name });
	}
	return event;
}

handle("provider.stream", async ({ token, provider, model, context, options }, controller) => {
	const config = providers.get(provider);
	if (!config?.streamSimple) throw new Error(`the provider ${provider} is not registered`);
	const full = { ...config.models?.find(({ id }) => id === model.id), ...model, baseUrl: config.baseUrl, api: config.api ?? model.api };
	const stream = await config.streamSimple(full, context, { ...options, apiKey: options.apiKey ?? config.apiKey, signal: controller.signal, replyToken: config.isVirtual ? token : undefined });
	const sender = createSender(token);
	let last;
	try {
		for await (const event of stream) {
			if (event.type === "done" || event.type === "error") last = event;
			else sender.push(plainEvent(event));
		}
	} finally {
		sender.flush();
	}
	const message = last?.message ?? last?.error ?? (await stream.result?.());
	if (!message) throw new Error(`the stream of the provider ${provider} ended without a message`);
	return message;
});
