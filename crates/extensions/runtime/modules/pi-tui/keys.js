// Keys: names such as "ctrl+c" for the sequences that a terminal sends, in the classic and the Kitty encoding.

const NAMES = {
	escape: "escape", esc: "escape", enter: "enter", return: "enter", tab: "tab", space: "space", backspace: "backspace",
	delete: "delete", insert: "insert", clear: "clear", home: "home", end: "end", pageup: "pageUp", pagedown: "pageDown",
	up: "up", down: "down", left: "left", right: "right",
};
for (let number = 1; number <= 12; number += 1) NAMES[`f${number}`] = `f${number}`;

const MODIFIERS = ["ctrl", "shift", "alt", "super"];

/** Names of keys: `Key.enter`, `Key.ctrl("c")`, `Key.ctrlShift("p")`. */
export const Key = { ...NAMES, pageUp: "pageUp", pageDown: "pageDown" };
for (const first of MODIFIERS) {
	Key[first] = (key) => `${first}+${key}`;
	for (const second of MODIFIERS) {
		if (first !== second) Key[first + second[0].toUpperCase() + second.slice(1)] = (key) => `${first}+${second}+${key}`;
	}
}
for (const symbol of ["backquote:`", "hyphen:-", "equals:=", "comma:,", "period:.", "slash:/", "semicolon:;"]) {
	const [name, value] = symbol.split(":");
	Key[name] = value;
}

/** The parts of a key's name in one order: "shift+ctrl+P" is "ctrl+shift+p". */
function normalize(name) {
	const parts = String(name).split("+");
	// The plus key itself.
	if (parts.at(-1) === "" && parts.length > 1) parts.splice(-2, 2, "+");
	const key = parts.pop();
	const modifiers = MODIFIERS.filter((modifier) => parts.some((part) => part.toLowerCase() === modifier));
	const known = NAMES[key.toLowerCase()];
	return [...modifiers, known ?? key.toLowerCase()].join("+");
}

const LETTER_KEYS = { A: "up", B: "down", C: "right", D: "left", H: "home", F: "end", P: "f1", Q: "f2", R: "f3", S: "f4", E: "clear" };
const NUMBER_KEYS = {
	1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageUp", 6: "pageDown", 7: "home", 8: "end", 11: "f1", 12: "f2", 13: "f3",
	14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10", 23: "f11", 24: "f12",
};
const CODE_KEYS = { 9: "tab", 13: "enter", 27: "escape", 32: "space", 127: "backspace", 57414: "enter" };

function withModifiers(bits, key) {
	const flags = Math.max(0, bits - 1);
	const parts = [];
	if (flags & 1) parts.push("shift");
	if (flags & 4) parts.push("ctrl");
	if (flags & 2) parts.push("alt");
	if (flags & 8) parts.push("super");
	return [...parts, key].join("+");
}

const CONTROL_KEYS = { 0: "ctrl+space", 8: "backspace", 9: "tab", 10: "enter", 13: "enter", 27: "escape", 28: "ctrl+\\", 29: "ctrl+]", 30: "ctrl+^", 31: "ctrl+-", 127: "backspace" };

function parseEscape(data) {
	let match = data.match(/^\u001b\[(\d+)(?::\d*){0,2}(?:;(\d+)(?::\d+)?)?(?:;[\d:]*)?u$/);
	if (match) {
		const code = Number(match[1]);
		const key = CODE_KEYS[code] ?? (code >= 32 ? String.fromCodePoint(code).toLowerCase() : undefined);
		return key && withModifiers(Number(match[2] ?? 1), key);
	}
	match = data.match(/^\u001b\[27;(\d+);(\d+)~$/);
	if (match) return parseEscape(`\u001b[${match[2]};${match[1]}u`);
	match = data.match(/^\u001b\[(?:1;(\d+)(?::\d+)?)?([A-HPQRS])$/) ?? data.match(/^\u001bO()([A-HPQRS])$/);
	if (match) return LETTER_KEYS[match[2]] && withModifiers(Number(match[1] || 1), LETTER_KEYS[match[2]]);
	match = data.match(/^\u001b\[(\d+)(?:;(\d+)(?::\d+)?)?~$/);
	if (match) return NUMBER_KEYS[match[1]] && withModifiers(Number(match[2] ?? 1), NUMBER_KEYS[match[1]]);
	if (data === "\u001b[Z") return "shift+tab";
	if (data.length === 2) {
		const inner = parseKey(data[1]);
		return inner && normalize(`alt+${inner}`);
	}
	return undefined;
}

/** The name of the key that a sequence means; undefined for others. */
export function parseKey(data) {
	if (data.length > 1 && data[0] === "\u001b") return parseEscape(data);
	if ([...data].length !== 1) return undefined;
	const code = data.codePointAt(0);
	if (CONTROL_KEYS[code]) return CONTROL_KEYS[code];
	if (code < 27) return `ctrl+${String.fromCharCode(code + 96)}`;
	if (code === 32) return "space";
	const lower = data.toLowerCase();
	return lower === data ? data : `shift+${lower}`;
}

/** Whether a sequence is this key. */
/** Other names of what some keys send. */
const ALSO = {
	"\r": "ctrl+m", "\n": "ctrl+j", "\t": "ctrl+i", "\b": "ctrl+h", "\u001bb": "alt+left", "\u001bB": "alt+left", "\u001bf": "alt+right", "\u001bF": "alt+right",
};

export function matchesKey(data, name) {
	const key = parseKey(data);
	if (key === undefined) return false;
	const wanted = normalize(name);
	// A letter with shift is also the capital letter itself.
	return normalize(key) === wanted || data === name || ALSO[data] === wanted;
}

const EVENT_TYPE = /^\u001b\[[\d:]*(?:;\d*:(\d))[\d;:]*[u~A-HPQRS]$/;
export const isKeyRelease = (data) => data.match(EVENT_TYPE)?.[1] === "3";
export const isKeyRepeat = (data) => data.match(EVENT_TYPE)?.[1] === "2";
export const isKittyProtocolActive = () => false;
