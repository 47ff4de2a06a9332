// `pi.events`: a bus that all extensions of a session share. Each has a runtime of its own, so what it emits arrives as a copy.
// A function in it arrives as one that calls the original. What a handler calls at once is called before `emit` returns, as in pi.

import { call, handle, isPromise, notice, parse, report, stringify } from "osier:primitives.js";

const handlers = new Map();

export const events = {
	on(name, handler) {
		const all = handlers.get(name) ?? [];
		handlers.set(name, [...all, handler]);
		if (!all.length) notice("bus.on", { name });
		return () => handlers.set(name, (handlers.get(name) ?? []).filter((known) => known !== handler));
	},
	emit(name, data) {
		deliver(name, data);
		const { json, hasFunctions } = encode(data);
		if (!hasFunctions) return notice("bus.emit", { name, data: json });
		for (const made of call("bus.emitNow", { name, data: json })) callOwn(made);
	},
};

function deliver(name, data) {
	for (const handler of handlers.get(name) ?? []) {
		try {
			const result = handler(data);
			if (isPromise(result)) result.then(undefined, report);
		} catch (error) {
			report(error);
		}
	}
}

/** The functions that others may call, by their numbers. The oldest ones are forgotten. */
const shared = new Map();
const MAX_SHARED = 1000;
const KEY = "$osierFunction";
let lastShared = 0;

function share(run) {
	lastShared += 1;
	shared.set(lastShared, run);
	if (shared.size > MAX_SHARED) shared.delete(shared.keys().next().value);
	return { [KEY]: lastShared };
}

/** A value as JSON text, in which functions are numbers. */
function encode(data) {
	let hasFunctions = false;
	const json = stringify(data, (_key, value) => {
		if (typeof value !== "function") return value;
		hasFunctions = true;
		return share(value);
	});
	return { json: json ?? "null", hasFunctions };
}

/** The calls that handlers make while they are asked; later calls are sent one by one. */
let made;

function decode(json, from) {
	return parse(json, (_key, value) => {
		const id = value?.[KEY];
		if (typeof id !== "number") return value;
		return (...args) => {
			const one = { from, id, args: encode(args).json };
			if (made) made.push(one);
			else notice("bus.call", one);
		};
	});
}

function callOwn({ id, args, from }) {
	try {
		const result = shared.get(id)?.(...decode(args, from));
		if (isPromise(result)) result.then(undefined, report);
	} catch (error) {
		report(error);
	}
}

handle("bus", ({ name, data, from }) => deliver(name, decode(data, from)));
handle("bus.now", ({ name, data, from }) => {
	const before = made;
	const now = (made = []);
	try {
		deliver(name, decode(data, from));
	} finally {
		made = before;
	}
	return now;
});
handle("bus.call", callOwn);
