// Colors of an extension's own: numbers of a terminal's palette, and red, green and blue.

const channel = (value) => Math.max(0, Math.min(255, value));
export const indexedColor = (index) => ({ kind: "indexed", index });
export const rgbColor = (r, g, b) => ({ kind: "rgb", r: channel(r), g: channel(g), b: channel(b) });

/** A number, `#rgb` or `#rrggbb`. */
export function parseColor(value) {
	if (typeof value === "number") return indexedColor(value);
	const digits = String(value).match(/^#([\da-f]{3}|[\da-f]{6})$/i)?.[1];
	if (!digits) throw new Error(`Invalid color: ${value}`);
	const full = digits.length === 3 ? [...digits].map((digit) => digit + digit).join("") : digits;
	return rgbColor(...[0, 2, 4].map((at) => Number.parseInt(full.slice(at, at + 2), 16)));
}

const BASIC = [0x000000, 0xcd3131, 0x0dbc79, 0xe5e510, 0x2472c8, 0xbc3fbc, 0x11a8cd, 0xe5e5e5, 0x666666, 0xf14c4c, 0x23d18b, 0xf5f543, 0x3b8eea, 0xd670d6, 0x29b8db, 0xffffff];
const STEPS = [0, 95, 135, 175, 215, 255];
export function colorToRgb(color) {
	if (color.kind !== "indexed") return { r: color.r, g: color.g, b: color.b };
	const { index } = color;
	if (index < 16) return { r: BASIC[index] >> 16, g: (BASIC[index] >> 8) & 255, b: BASIC[index] & 255 };
	if (index >= 232) return { r: 8 + (index - 232) * 10, g: 8 + (index - 232) * 10, b: 8 + (index - 232) * 10 };
	const place = index - 16;
	return { r: STEPS[Math.floor(place / 36)], g: STEPS[Math.floor(place / 6) % 6], b: STEPS[place % 6] };
}
export function colorToHex(color) {
	const { r, g, b } = colorToRgb(color);
	return `#${[r, g, b].map((value) => Math.round(value).toString(16).padStart(2, "0")).join("")}`;
}
/** A color between two others: `amount` 0 is the first one. */
export function mixColors(first, second, amount) {
	const [a, b] = [colorToRgb(first), colorToRgb(second)];
	return rgbColor(...["r", "g", "b"].map((name) => a[name] + (b[name] - a[name]) * amount));
}

function ansi(color, ground) {
	if (color.kind === "indexed") return `\u001b[${ground};5;${color.index}m`;
	const { r, g, b } = colorToRgb(color);
	return `\u001b[${ground};2;${[r, g, b].map(Math.round).join(";")}m`;
}
export const foregroundAnsi = (color) => ansi(color, 38);
export const backgroundAnsi = (color) => ansi(color, 48);
export const getTerminalColorMode = () => "truecolor";

const ATTRIBUTES = { bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], inverse: [7, 27], strikethrough: [9, 29] };
export function styleTextWithAnsi(text, fg, bg, options = {}) {
	const on = Object.keys(ATTRIBUTES).filter((name) => options[name]);
	const start = on.map((name) => `\u001b[${ATTRIBUTES[name][0]}m`).join("");
	const end = on.map((name) => `\u001b[${ATTRIBUTES[name][1]}m`).reverse().join("");
	return `${fg ?? ""}${bg ?? ""}${start}${text}${end}${bg ? "\u001b[49m" : ""}${fg ? "\u001b[39m" : ""}`;
}
export const styleText = (text, options = {}) => styleTextWithAnsi(text, options.fg && foregroundAnsi(options.fg), options.bg && backgroundAnsi(options.bg), options);
export const replaceControlCharacters = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
