// The module `events` of Node.

import { report } from "osier:primitives.js";

export class EventEmitter {
	static defaultMaxListeners = 10;
	#listeners = new Map();
	#add(name, listener, once, first) {
		if (typeof listener !== "function") throw new TypeError('The "listener" argument must be of type function');
		if (this.#listeners.has("newListener")) this.emit("newListener", name, listener);
		const all = this.#listeners.get(name) ?? [];
		this.#listeners.set(name, first ? [{ listener, once }, ...all] : [...all, { listener, once }]);
		return this;
	}
	on(name, listener) {
		return this.#add(name, listener, false, false);
	}
	once(name, listener) {
		return this.#add(name, listener, true, false);
	}
	prependListener(name, listener) {
		return this.#add(name, listener, false, true);
	}
	prependOnceListener(name, listener) {
		return this.#add(name, listener, true, true);
	}
	off(name, listener) {
		const all = this.#listeners.get(name) ?? [];
		const at = all.findLastIndex((known) => known.listener === listener);
		if (at >= 0) {
			const rest = all.toSpliced(at, 1);
			if (rest.length) this.#listeners.set(name, rest);
			else this.#listeners.delete(name);
		}
		return this;
	}
	removeAllListeners(name) {
		if (name === undefined) this.#listeners.clear();
		else this.#listeners.delete(name);
		return this;
	}
	emit(name, ...values) {
		const all = this.#listeners.get(name);
		if (!all?.length) {
			if (name === "error") throw values[0] instanceof Error ? values[0] : new Error(`Unhandled error: ${values[0]}`);
			return false;
		}
		for (const { listener, once } of all) {
			if (once) this.off(name, listener);
			const result = listener.apply(this, values);
			if (typeof result?.then === "function") result.then(undefined, report);
		}
		return true;
	}
	listeners(name) {
		return (this.#listeners.get(name) ?? []).map(({ listener }) => listener);
	}
	rawListeners(name) {
		return this.listeners(name);
	}
	listenerCount(name) {
		return this.#listeners.get(name)?.length ?? 0;
	}
	eventNames() {
		return [...this.#listeners.keys()];
	}
	setMaxListeners() {
		return this;
	}
	getMaxListeners() {
		return EventEmitter.defaultMaxListeners;
	}
}
EventEmitter.prototype.addListener = EventEmitter.prototype.on;
EventEmitter.prototype.removeListener = EventEmitter.prototype.off;
EventEmitter.EventEmitter = EventEmitter;

/** Resolves with the values of the next event. */
export function once(emitter, name, { signal } = {}) {
	return new Promise((resolve, reject) => {
		const done = () => {
			emitter.off("error", fail);
			emitter.off(name, succeed);
			signal?.removeEventListener("abort", abort);
		};
		const succeed = (...values) => (done(), resolve(values));
		const fail = (error) => (done(), reject(error));
		const abort = () => (done(), reject(signal.reason));
		if (signal?.aborted) return reject(signal.reason);
		emitter.on(name, succeed);
		if (name !== "error") emitter.on("error", fail);
		signal?.addEventListener("abort", abort, { once: true });
	});
}
EventEmitter.once = once;
export const setMaxListeners = () => {};
export const defaultMaxListeners = 10;
export default EventEmitter;
