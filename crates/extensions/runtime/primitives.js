// The three primitives on which everything else is built: `call` (synchronous), `request` (asynchronous), and `handle`, which
// answers requests and notices of Osier. Extensions cannot reach this module, and later changes of `JSON` do not affect it.

const native = globalThis.__native;
delete globalThis.__native;
const { stringify, parse } = JSON;
const toJson = (value) => stringify(value) ?? "null";

export { native, parse, stringify };

/** Asks Osier and waits. Nothing else runs in this extension meanwhile. */
export function call(method, params) {
	return parse(native.call(method, toJson(params)));
}

const pending = new Map();

/** Asks Osier. An aborted `signal` cancels the request; Osier still answers. */
export function request(method, params, signal) {
	return new Promise((resolve, reject) => {
		const id = native.request(method, toJson(params));
		const abort = () => native.cancel(id);
		pending.set(id, { resolve, reject, done: () => signal?.removeEventListener?.("abort", abort) });
		if (signal?.aborted) abort();
		else signal?.addEventListener?.("abort", abort, { once: true });
	});
}

/** Tells Osier something that has no answer. */
export function notice(method, params) {
	native.notice(method, toJson(params));
}

/** Reports an error that no caller receives. */
export function report(error) {
	native.report(errorMessage(error), errorStack(error));
}

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

/** Answers requests and notices of Osier. `answer(params, controller)` may return a promise. */
export function handle(method, answer) {
	methods.set(method, answer);
}

export function onWake(handler) {
	wakeHandlers.push(handler);
}

// Set by `abort.js`, which needs this module.
let newController = () => undefined;
export function setControllerFactory(factory) {
	newController = factory;
}

async function answerRequest(id, method, text) {
	const controller = newController();
	running.set(id, controller);
	try {
		const answer = methods.get(method);
		if (!answer) throw new Error(`unknown method ${method}`);
		const result = await answer(parse(text), controller);
		native.respond(id, toJson(result));
	} catch (error) {
		native.fail(id, errorMessage(error), errorStack(error));
	} finally {
		running.delete(id);
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
			methods.get(method)?.(parse(text));
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
