// The module `assert` of Node.

import { inspect, isDeepStrictEqual } from "osier:node/util.js";

export class AssertionError extends Error {
	constructor({ message, actual, expected, operator }) {
		super(message ?? `${inspect(actual)} ${operator} ${inspect(expected)}`);
		Object.assign(this, { name: "AssertionError", code: "ERR_ASSERTION", actual, expected, operator });
	}
}
function check(condition, actual, expected, operator, message) {
	if (condition) return;
	throw message instanceof Error ? message : new AssertionError({ message, actual, expected, operator });
}
export const ok = (value, message) => check(value, value, true, "==", message);
const assert = (value, message) => ok(value, message);
export const equal = (a, b, message) => check(a == b, a, b, "==", message); // eslint-disable-line eqeqeq
export const notEqual = (a, b, message) => check(a != b, a, b, "!=", message); // eslint-disable-line eqeqeq
export const strictEqual = (a, b, message) => check(Object.is(a, b), a, b, "strictEqual", message);
export const notStrictEqual = (a, b, message) => check(!Object.is(a, b), a, b, "notStrictEqual", message);
export const deepStrictEqual = (a, b, message) => check(isDeepStrictEqual(a, b), a, b, "deepStrictEqual", message);
export const deepEqual = deepStrictEqual;
export const fail = (message = "Failed") => check(false, undefined, undefined, "fail", message);
export const match = (text, pattern, message) => check(pattern.test(text), text, pattern, "match", message);
export function throws(run, message) {
	try {
		run();
	} catch {
		return;
	}
	fail(typeof message === "string" ? message : "Missing expected exception.");
}
Object.assign(assert, { ok, equal, notEqual, strictEqual, notStrictEqual, deepStrictEqual, deepEqual, fail, match, throws, AssertionError, strict: assert });
export const strict = assert;
export default assert;
