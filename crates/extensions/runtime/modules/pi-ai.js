// What extensions import from pi-ai. Model calls go through Osier, which has the keys.

import { modelRegistry } from "osier:models.js";
import { StringEnum, Type } from "osier:modules/typebox.js";

export { StringEnum, Type };

export const complete = (model, context, options) => modelRegistry.complete(model, context, options);
export const completeSimple = complete;

/** An id that sorts by the time of its creation. */
export function uuidv7() {
	const bytes = Array.from({ length: 16 }, () => Math.floor(Math.random() * 256));
	let time = Date.now();
	for (let at = 5; at >= 0; at -= 1) {
		bytes[at] = time % 256;
		time = Math.floor(time / 256);
	}
	bytes[6] = 0x70 | (bytes[6] & 0x0f);
	bytes[8] = 0x80 | (bytes[8] & 0x3f);
	const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
	return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

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
