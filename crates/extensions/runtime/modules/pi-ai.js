// What extensions import from pi-ai. Model calls go through Osier, which has the keys.

import { modelRegistry } from "osier:models.js";
import { StringEnum, Type } from "osier:modules/typebox.js";

export { StringEnum, Type };

export const complete = (model, context, options) => modelRegistry.complete(model, context, options);
export const completeSimple = complete;

export function calculateCost(model, usage) {
	const cost = model?.cost ?? {};
	const part = (tokens, price) => ((tokens ?? 0) * (price ?? 0)) / 1_000_000;
	const parts = {
		input: part(usage?.input, cost.input),
		output: part(usage?.output, cost.output),
		cacheRead: part(usage?.cacheRead, cost.cacheRead),
		cacheWrite: part(usage?.cacheWrite, cost.cacheWrite),
	};
	return { ...parts, total: parts.input + parts.output + parts.cacheRead + parts.cacheWrite };
}

export function getSupportedThinkingLevels(model) {
	return model?.reasoning ? ["off", "minimal", "low", "medium", "high"] : ["off"];
}
