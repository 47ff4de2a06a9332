// setTimeout, setInterval, setImmediate and queueMicrotask. Rust wakes the runtime when the first timer is due.

import { native, onWake, report } from "osier:primitives.js";

const timers = new Map();
let lastId = 0;

class Timeout {
	constructor(id) {
		this.id = id;
	}
	ref() {
		return this;
	}
	unref() {
		return this;
	}
	hasRef() {
		return true;
	}
	refresh() {
		const timer = timers.get(this.id);
		if (timer) timer.due = native.now() + timer.delay;
		schedule();
		return this;
	}
	close() {
		clear(this);
		return this;
	}
	[Symbol.toPrimitive]() {
		return this.id;
	}
}

function schedule() {
	let next = Infinity;
	for (const timer of timers.values()) next = Math.min(next, timer.due);
	native.wake(next === Infinity ? -1 : next);
}

function add(callback, delay, args, repeats) {
	if (typeof callback !== "function") throw new TypeError("The callback must be a function");
	const time = Math.min(Math.max(Number(delay) || 0, repeats ? 1 : 0), 2 ** 31 - 1);
	lastId += 1;
	const handle = new Timeout(lastId);
	timers.set(lastId, { callback, args, delay: time, due: native.now() + time, repeats, handle });
	schedule();
	return handle;
}

function clear(handle) {
	if (handle == null) return;
	timers.delete(typeof handle === "object" ? handle.id : Number(handle));
	schedule();
}

onWake(() => {
	const now = native.now();
	const due = [...timers].filter(([, timer]) => timer.due <= now).sort((a, b) => a[1].due - b[1].due);
	for (const [id, timer] of due) {
		if (!timers.has(id)) continue;
		if (timer.repeats) timer.due = now + timer.delay;
		else timers.delete(id);
		try {
			const result = timer.callback.apply(timer.handle, timer.args);
			if (typeof result?.then === "function") result.then(undefined, report);
		} catch (error) {
			report(error);
		}
	}
	schedule();
});

export const setTimeout = (callback, delay, ...args) => add(callback, delay, args, false);
export const setInterval = (callback, delay, ...args) => add(callback, delay, args, true);
export const setImmediate = (callback, ...args) => add(callback, 0, args, false);
export const clearTimeout = clear;
export const clearInterval = clear;
export const clearImmediate = clear;
export const queueMicrotask = (callback) => {
	Promise.resolve()
		.then(callback)
		.catch(report);
};
