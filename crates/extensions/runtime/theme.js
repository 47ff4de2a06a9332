// The theme. In a terminal, colors are numbers of names, so that each terminal draws them in its own theme; elsewhere they are
// the sixteen colors that every program knows.

import { environment } from "osier:context.js";

const ESC = "\u001b[";

const BASIC = {
	accent: 36, border: 34, borderAccent: 36, borderMuted: 90, success: 32, error: 31, warning: 33, muted: 90, dim: 90,
	text: 39, thinkingText: 90, userMessageText: 39, customMessageText: 39, customMessageLabel: 35, toolTitle: 39,
	toolOutput: 90, mdHeading: 33, mdLink: 34, mdCode: 36, syntaxComment: 90, syntaxKeyword: 35, syntaxString: 32,
	toolDiffAdded: 32, toolDiffRemoved: 31, toolDiffContext: 90, bashMode: 32,
};
const BASIC_BACKGROUNDS = { selectedBg: 100 };

/** What `38` or `48` selects for a color of the extension's own: a number, "#rrggbb", or `{ r, g, b }`. */
function ownColor(color) {
	if (typeof color === "number") return `5;${color & 255}`;
	const hex = typeof color === "string" ? color.match(/^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i) : undefined;
	if (hex) return `2;${hex.slice(1).map((part) => Number.parseInt(part, 16)).join(";")}`;
	if (color !== null && typeof color === "object" && "r" in color) return `2;${color.r};${color.g};${color.b}`;
	return undefined;
}

function code(color, isBackground) {
	const [first, plain] = isBackground ? [48, 49] : [38, 39];
	const own = ownColor(color);
	if (own) return `${first};${own}`;
	if (environment().mode !== "tui") return String((isBackground ? BASIC_BACKGROUNDS : BASIC)[color] ?? plain);
	const index = environment().themeTokens?.indexOf(color) ?? -1;
	return index < 0 ? String(plain) : `${first};6;${index}`;
}

const attribute = (on, off) => (text) => `${ESC}${on}m${text}${ESC}${off}m`;
const screen = { light: false };
/** The terminal said what its background is. */
export function setLightBackground(light) {
	screen.light = !!light;
}

// How the colors look in most terminals, for extensions that calculate with them.
const SHADES = { 31: "#cd3131", 32: "#0dbc79", 33: "#e5e510", 34: "#2472c8", 35: "#bc3fbc", 36: "#11a8cd", 90: "#808080", 100: "#3a3a4a" };

export const theme = {
	name: "osier",
	get appearance() {
		return screen.light ? "light" : "dark";
	},
	fg: (color, text) => `${theme.getFgAnsi(color)}${text}${ESC}39m`,
	bg: (color, text) => `${theme.getBgAnsi(color)}${text}${ESC}49m`,
	bold: attribute(1, 22),
	italic: attribute(3, 23),
	underline: attribute(4, 24),
	inverse: attribute(7, 27),
	strikethrough: attribute(9, 29),
	style: (text, { fg, bg, bold, italic, underline, inverse, strikethrough, dim } = {}) => {
		let styled = String(text);
		if (bold) styled = theme.bold(styled);
		if (dim) styled = attribute(2, 22)(styled);
		if (italic) styled = theme.italic(styled);
		if (underline) styled = theme.underline(styled);
		if (strikethrough) styled = theme.strikethrough(styled);
		if (inverse) styled = theme.inverse(styled);
		if (fg !== undefined) styled = theme.fg(fg, styled);
		return bg === undefined ? styled : theme.bg(bg, styled);
	},
	getFgAnsi: (color) => `${ESC}${code(color, false)}m`,
	getBgAnsi: (color) => `${ESC}${code(color, true)}m`,
	getColorMode: () => "truecolor",
	getThinkingBorderColor: (level) => (text) => theme.fg(`thinking${String(level)[0].toUpperCase()}${String(level).slice(1)}`, text),
	getBashModeBorderColor: () => (text) => theme.fg("bashMode", text),
	get colors() {
		const plain = screen.light ? "#000000" : "#d4d4d4";
		const shade = (name) => SHADES[BASIC[name] ?? BASIC_BACKGROUNDS[name]] ?? (name.endsWith("Bg") ? (screen.light ? "#ffffff" : "#1e1e1e") : plain);
		return Object.fromEntries((environment().themeTokens ?? Object.keys(BASIC)).map((name) => [name, shade(name)]));
	},
};

export const themeNames = () => environment().themes ?? [];
