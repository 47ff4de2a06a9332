// The module `timers/promises` of Node.

import * as timers from "osier:timers.js";

const wait = (start, stop) => (...args) =>
	new Promise((resolve, reject) => {
		const [delay, value, options] = start === timers.setImmediate ? [0, ...args] : args;
		const { signal } = options ?? {};
		if (signal?.aborted) return reject(signal.reason);
		const abort = () => {
			stop(timer);
			reject(signal.reason);
		};
		const timer = timers.setTimeout(() => {
			signal?.removeEventListener("abort", abort);
			resolve(value);
		}, delay);
		signal?.addEventListener("abort", abort, { once: true });
	});
export const setTimeout = wait(timers.setTimeout, timers.clearTimeout);
export const setImmediate = wait(timers.setImmediate, timers.clearTimeout);
export async function* setInterval(delay, value, options) {
	for (;;) yield await setTimeout(delay, value, options);
}
export const scheduler = { wait: (delay, options) => setTimeout(delay, undefined, options), yield: () => setImmediate() };
export default { setTimeout, setImmediate, setInterval, scheduler };
