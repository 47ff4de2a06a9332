// `ctx.modelRegistry`: the models that Osier knows. Keys never leave Osier.

import { call, request } from "osier:primitives.js";

const all = () => call("models.list", {});

export const modelRegistry = {
	getAll: all,
	getAvailable: async () => all(),
	find: (provider, id) => all().find((model) => model.provider === provider && model.id === id),
	getProvider: (name) => {
		const models = all().filter((model) => model.provider === name);
		return models.length ? { id: name, name, models } : undefined;
	},
	hasConfiguredAuth: (model) => all().some((known) => known.provider === model?.provider && known.id === model?.id),
	isUsingOAuth: () => false,
	refresh: async () => {},
	getApiKey: async () => undefined,
	getApiKeyForProvider: async () => undefined,
	getApiKeyAndHeaders: async () => ({ ok: true, apiKey: "managed-by-osier", headers: {} }),
	complete: (model, context, options = {}) =>
		request("models.complete", { model: `${model.provider}/${model.id}`, context, options: { ...options, signal: undefined } }, options.signal),
};
