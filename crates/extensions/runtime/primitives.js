// The three primitives on which everything else is built: `call` (synchronous), `request` (asynchronous), and `handle`, which
// answers requests and notices of Osier. Extensions cannot reach this module, and later changes of `JSON` do not affect it.

const { stringify, parse } = JSON;
const wellFormed = Function.prototype.call.bind(String.prototype.toWellFormed);

/** Half of a surrogate pair cannot be part of a message of Osier or of a file. It becomes U+FFFD, as in Node. */
function toJson(value) {
	const text = stringify(value) ?? "null";
	return text.includes("\\ud") ? text.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (found) => (found.length > 2 ? "\\ufffd" : found)) : text;
}

/** Native functions that get texts of extensions. */
function withWellFormedTexts(functions) {
	const entries = Object.entries(functions).map(([name, run]) => {
		if (typeof run !== "function") return [name, run && typeof run === "object" && !Array.isArray(run) ? withWellFormedTexts(run) : run];
		return [name, (...args) => run(...args.map((value) => (typeof value === "string" ? wellFormed(value) : value)))];
	});
	return Object.fromEntries(entries);
}

const { __native } = globalThis;
delete globalThis.__native;
/** Their texts are well-formed already, and they are called often. */
const { call: callNow, request: sendRequest, notice: sendNotice, respond: sendResponse, now, wake, cancel } = __native;
const native = { ...withWellFormedTexts(__native), now, wake, cancel };

export { native, parse, stringify };

/** Asks Osier and waits. Nothing else runs in this extension meanwhile. */
export function call(method, params) {
	return parse(callNow(method, toJson(params)));
}

const pending = new Map();

/** Asks Osier. An aborted `signal` cancels the request; Osier still answers. */
export function request(method, params, signal) {
	return new Promise((resolve, reject) => {
		const id = sendRequest(method, toJson(params));
		const abort = () => cancel(id);
		pending.set(id, { resolve, reject, done: () => signal?.removeEventListener?.("abort", abort) });
		if (signal?.aborted) abort();
		else signal?.addEventListener?.("abort", abort, { once: true });
	});
}

/** Tells Osier something that has no answer. */
export function notice(method, params) {
	sendNotice(method, toJson(params));
}

/** Reports an error that no caller receives. */
export function report(error) {
	native.report(errorMessage(error), errorStack(error));
}

/** The line of the extension that calls this. */
export const callerPlace = () => native.place(String(new Error().stack)) ?? undefined;

export function errorMessage(error) {
	try {
		return error instanceof Error ? String(error.message || error.name) : String(error);
	} catch {
		return "an error without a message";
	}
}

function errorStack(error) {
	try {
		return error instanceof Error && typeof error.stack === "string" ? error.stack : "";
	} catch {
		return "";
	}
}

const methods = new Map();
const running = new Map();
const wakeHandlers = [];

methods.set("ping", () => null);

/** The last notices of methods that nothing handles yet: some parts of the library are loaded when they are first used. */
const unhandled = new Map();

/** Answers requests and notices of Osier. `answer(params, controller)` may return a promise. */
export function handle(method, answer) {
	methods.set(method, answer);
	if (!unhandled.has(method)) return;
	answer(parse(unhandled.get(method)));
	unhandled.delete(method);
}

export function onWake(handler) {
	wakeHandlers.push(handler);
}

// Set by `abort.js`, which needs this module.
let newController = () => undefined;
export function setControllerFactory(factory) {
	newController = factory;
}

/** A controller that exists only if something uses its signal. */
class LazyController {
	#controller;
	#isAborted = false;
	get signal() {
		if (!this.#controller) {
			this.#controller = newController();
			if (this.#isAborted) this.#controller.abort();
		}
		return this.#controller.signal;
	}
	abort() {
		this.#isAborted = true;
		this.#controller?.abort();
	}
}

export const isPromise = (value) => typeof value?.then === "function";

function respond(id, result) {
	running.delete(id);
	sendResponse(id, toJson(result));
}

function fail(id, error) {
	running.delete(id);
	native.fail(id, errorMessage(error), errorStack(error));
}

/** Most handlers of events answer at once, so no promise is made for them. */
function answerRequest(id, method, text) {
	const controller = new LazyController();
	running.set(id, controller);
	try {
		const answer = methods.get(method);
		if (!answer) throw new Error(`unknown method ${method}`);
		const result = answer(parse(text), controller);
		if (!isPromise(result)) return respond(id, result);
		result.then((value) => respond(id, value)).then(undefined, (error) => fail(id, error));
	} catch (error) {
		fail(id, error);
	}
}

function settle(id, settleWith) {
	const waiting = pending.get(id);
	if (!waiting) return;
	pending.delete(id);
	waiting.done();
	settleWith(waiting);
}

// The kinds are those of `MessageKind` in `child/runtime.rs`.
export function dispatch(kind, id, method, text) {
	switch (kind) {
		case 0:
			answerRequest(id, method, text);
			break;
		case 1:
			if (methods.has(method)) methods.get(method)(parse(text));
			else unhandled.set(method, text);
			break;
		case 2:
			settle(id, ({ resolve }) => resolve(parse(text)));
			break;
		case 3:
			settle(id, ({ reject }) => reject(new Error(text)));
			break;
		case 4:
			running.get(id)?.abort();
			break;
		case 5:
			for (const wake of wakeHandlers) wake();
			break;
	}
}
