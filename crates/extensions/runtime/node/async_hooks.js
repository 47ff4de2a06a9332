// The module `async_hooks` of Node: a store that lasts for a synchronous call and for the promises that it awaits directly.

export class AsyncLocalStorage {
	#store;
	run(store, callback, ...args) {
		const outer = this.#store;
		this.#store = store;
		const restore = () => {
			this.#store = outer;
		};
		let result;
		try {
			result = callback(...args);
		} catch (error) {
			restore();
			throw error;
		}
		if (typeof result?.then === "function") return result.then((value) => (restore(), value), (error) => (restore(), Promise.reject(error)));
		restore();
		return result;
	}
	getStore() {
		return this.#store;
	}
	enterWith(store) {
		this.#store = store;
	}
	exit(callback, ...args) {
		return this.run(undefined, callback, ...args);
	}
	disable() {
		this.#store = undefined;
	}
}
export class AsyncResource {
	runInAsyncScope(callback, self, ...args) {
		return callback.apply(self, args);
	}
}
export default { AsyncLocalStorage, AsyncResource };
