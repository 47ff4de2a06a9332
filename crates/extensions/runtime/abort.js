// Event, EventTarget, AbortController and AbortSignal.

import { report, setControllerFactory } from "osier:primitives.js";
import { setTimeout } from "osier:timers.js";

export class Event {
	constructor(type, options = {}) {
		this.type = String(type);
		this.cancelable = !!options.cancelable;
		this.bubbles = !!options.bubbles;
		this.defaultPrevented = false;
		this.target = null;
		this.currentTarget = null;
		this.timeStamp = Date.now();
	}
	preventDefault() {
		if (this.cancelable) this.defaultPrevented = true;
	}
	stopPropagation() {}
	stopImmediatePropagation() {
		this.stopped = true;
	}
}

export class CustomEvent extends Event {
	constructor(type, options = {}) {
		super(type, options);
		this.detail = options.detail ?? null;
	}
}

export class EventTarget {
	#listeners = new Map();
	addEventListener(type, listener, options) {
		if (!listener) return;
		const all = this.#listeners.get(type) ?? [];
		if (all.some((known) => known.listener === listener)) return;
		const once = typeof options === "object" && !!options?.once;
		this.#listeners.set(type, [...all, { listener, once }]);
	}
	removeEventListener(type, listener) {
		const all = this.#listeners.get(type) ?? [];
		this.#listeners.set(
			type,
			all.filter((known) => known.listener !== listener),
		);
	}
	dispatchEvent(event) {
		event.target = event.currentTarget = this;
		for (const { listener, once } of this.#listeners.get(event.type) ?? []) {
			if (once) this.removeEventListener(event.type, listener);
			try {
				if (typeof listener === "function") listener.call(this, event);
				else listener.handleEvent(event);
			} catch (error) {
				report(error);
			}
			if (event.stopped) break;
		}
		return !event.defaultPrevented;
	}
}

export class DOMException extends Error {
	constructor(message = "", name = "Error") {
		super(message);
		Object.defineProperty(this, "name", { value: name, configurable: true });
	}
	get code() {
		return this.name === "AbortError" ? 20 : this.name === "TimeoutError" ? 23 : 0;
	}
}

const key = Symbol("AbortSignal");

export class AbortSignal extends EventTarget {
	#reason;
	#aborted = false;
	onabort = null;
	constructor(token) {
		super();
		if (token !== key) throw new TypeError("Illegal constructor");
	}
	get aborted() {
		return this.#aborted;
	}
	get reason() {
		return this.#reason;
	}
	throwIfAborted() {
		if (this.#aborted) throw this.#reason;
	}
	static #fire(signal, reason) {
		if (signal.#aborted) return;
		signal.#aborted = true;
		signal.#reason = reason ?? new DOMException("This operation was aborted", "AbortError");
		const event = new Event("abort");
		signal.onabort?.(event);
		signal.dispatchEvent(event);
	}
	static fire(signal, reason, token) {
		if (token === key) AbortSignal.#fire(signal, reason);
	}
	static abort(reason) {
		const signal = new AbortSignal(key);
		AbortSignal.#fire(signal, reason);
		return signal;
	}
	static timeout(time) {
		const signal = new AbortSignal(key);
		const error = new DOMException("The operation timed out", "TimeoutError");
		setTimeout(() => AbortSignal.#fire(signal, error), time);
		return signal;
	}
	static any(signals) {
		const signal = new AbortSignal(key);
		for (const other of signals) {
			if (other.aborted) {
				AbortSignal.#fire(signal, other.reason);
				break;
			}
			other.addEventListener("abort", () => AbortSignal.#fire(signal, other.reason), { once: true });
		}
		return signal;
	}
}

export class AbortController {
	#signal = new AbortSignal(key);
	get signal() {
		return this.#signal;
	}
	abort(reason) {
		AbortSignal.fire(this.#signal, reason, key);
	}
}

setControllerFactory(() => new AbortController());
