// What extensions import from pi-ai. Model calls go through Osier, which has the keys.

import { requireModule } from "osier:commonjs.js";
import { callModel, modelRegistry } from "osier:models.js";
import { StringEnum, Type } from "osier:modules/typebox-builder.js";
import { AssistantMessageEventStream, createAssistantMessageEventStream, EventStream } from "osier:modules/pi-ai/stream.js";

export { AssistantMessageEventStream, createAssistantMessageEventStream, EventStream, StringEnum, Type };

export * from "osier:modules/pi-ai/names.js";

export const complete = (model, context, options) => modelRegistry.complete(model, context, options);
export const completeSimple = complete;
/** A reply as a stream of events, while it arrives. */
export function stream(model, context, options) {
	const events = createAssistantMessageEventStream();
	let partial = emptyMessage(model);
	const arguments_ = new Map();
	const receive = (event) => {
		// Another attempt begins from nothing.
		if (event.type === "start") partial = emptyMessage(model);
		else applyPiece(partial, arguments_, event);
		events.push({ ...event, partial });
	};
	callModel(model, context, options, receive).then(
		(message) => {
			const failed = message.stopReason === "error" || message.stopReason === "aborted";
			events.push(failed ? { type: "error", reason: message.stopReason, error: message } : { type: "done", reason: message.stopReason, message });
			events.end(message);
		},
		(error) => {
			const message = { ...emptyMessage(model), stopReason: options?.signal?.aborted ? "aborted" : "error", errorMessage: error.message };
			events.push({ type: "error", reason: message.stopReason, error: message });
			events.end(message);
		},
	);
	return events;
}

const emptyMessage = (model) => ({ role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id, usage: emptyUsage(), stopReason: "stop", timestamp: Date.now() });

/** Adds a piece to the message so far, and to the event what it completes. */
function applyPiece({ content }, texts, event) {
	const { type, contentIndex, delta } = event;
	const [kind, step] = type.split("_");
	if (step === "start") {
		content[contentIndex] = { text: { type: "text", text: "" }, thinking: { type: "thinking", thinking: "" }, toolcall: { type: "toolCall", id: event.id, name: event.name, arguments: {} } }[kind];
		texts.set(contentIndex, "");
		return;
	}
	const block = content[contentIndex];
	if (!block) return;
	if (step === "delta" && kind === "toolcall") {
		texts.set(contentIndex, texts.get(contentIndex) + delta);
		block.arguments = parseStreamingJson(texts.get(contentIndex));
	} else if (step === "delta") block[kind] += delta;
	else if (kind === "toolcall") event.toolCall = block;
	else event.content = block[kind];
}
export const streamSimple = stream;
const emptyUsage = () => ({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } });

export const getModel = (provider, id) => modelRegistry.find(provider, id);
export const getModels = (provider) => modelRegistry.getAll().filter((model) => !provider || model.provider === provider);
export const getProviders = () => [...new Set(modelRegistry.getAll().map((model) => model.provider))];
export const modelsAreEqual = (a, b) => !!a && !!b && a.id === b.id && a.provider === b.provider;

/** An id that sorts by the time of its creation. */
export function uuidv7() {
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	let time = Date.now();
	for (let at = 5; at >= 0; at -= 1) {
		bytes[at] = time % 256;
		time = Math.floor(time / 256);
	}
	bytes[6] = 0x70 | (bytes[6] & 0x0f);
	bytes[8] = 0x80 | (bytes[8] & 0x3f);
	const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
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
	const all = { ...parts, total: parts.input + parts.output + parts.cacheRead + parts.cacheWrite };
	if (usage) usage.cost = all;
	return all;
}

const LEVELS = ["off", "minimal", "low", "medium", "high"];
export const getSupportedThinkingLevels = (model) => (model?.reasoning ? (model.thinkingLevels ?? LEVELS) : ["off"]);
export const clampThinkingLevel = (model, level) => (getSupportedThinkingLevels(model).includes(level) ? level : getSupportedThinkingLevels(model).at(-1));
export const supportsXhigh = (model) => getSupportedThinkingLevels(model).includes("xhigh");
export const isContextOverflow = (message) => /context (length|window)|too long|maximum context/i.test(message?.errorMessage ?? "");
export const getEnvApiKey = () => undefined;

const textOf = (content) => (typeof content === "string" ? content : (content ?? []).map((block) => block.text ?? "").join("\n"));
const systemMessages = (context) => (context?.messages ?? []).filter((message) => message.role === "system");
/** The system prompt of a context, also if it is stored as messages. */
export const getCurrentSystemPrompt = (context) => [context?.systemPrompt, ...systemMessages(context).map((message) => textOf(message.content))].filter(Boolean).join("\n\n");
export const getCurrentTools = (context) => context?.tools ?? systemMessages(context).findLast((message) => message.tools)?.tools ?? [];
export const collapseSystemMessages = (context) => ({ ...context, systemPrompt: getCurrentSystemPrompt(context), messages: (context?.messages ?? []).filter((message) => message.role !== "system") });

/** Puts the arguments of a tool call together while they arrive as JSON text. */
export class ToolCallArgumentsStream {
	#text = "";
	push(delta) {
		this.#text += delta;
		return this.value();
	}
	value() {
		return parseStreamingJson(this.#text);
	}
	finish() {
		return parseStreamingJson(this.#text);
	}
}
/** The value of JSON text that may end too early. */
export function parseStreamingJson(text) {
	const given = String(text ?? "").trim();
	if (!given) return {};
	const closers = [];
	let inString = false;
	for (let at = 0; at < given.length; at += 1) {
		const char = given[at];
		if (inString) {
			if (char === "\\") at += 1;
			else if (char === '"') inString = false;
		} else if (char === '"') inString = true;
		else if (char === "{") closers.unshift("}");
		else if (char === "[") closers.unshift("]");
		else if (char === "}" || char === "]") closers.shift();
	}
	for (const attempt of [given, `${given}${inString ? '"' : ""}${closers.join("")}`, `${given.replace(/,?\s*("[^"]*"?\s*:?\s*)?$/, "")}${closers.join("")}`]) {
		try {
			return JSON.parse(attempt);
		} catch {
			// Try the next.
		}
	}
	return {};
}

export { validateToolArguments } from "osier:tools.js";

const unavailable = (name) => () => {
	throw new Error(`${name} is not available in Osier's extensions: Osier makes the model calls`);
};
export const registerApiProvider = unavailable("registerApiProvider");
export const unregisterApiProviders = () => {};
export const anthropicMessagesApi = unavailable("anthropicMessagesApi");
export const openAIResponsesApi = unavailable("openAIResponsesApi");
export const openAICompletionsApi = unavailable("openAICompletionsApi");
export const createProvider = (definition) => definition;
export const registerOAuthProvider = () => requireModule("osier:screen.js").unsupported("pi.registerOAuthProvider");
export const getOAuthProvider = () => undefined;
export const getOAuthProviders = () => [];
