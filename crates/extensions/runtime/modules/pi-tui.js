// What extensions import from pi-tui: components are objects with `render(width)`, which returns lines.

export * from "osier:modules/pi-tui/fuzzy.js";
export * from "osier:modules/pi-tui/keys.js";

/** Marks the place of the cursor in a rendered line. */
export const CURSOR_MARKER = "\u001b_pi:c\u0007";

// eslint-disable-next-line no-control-regex
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|_[^\u001b]*\u001b\\)/g;

/** The number of columns of a text without its escape sequences. */
export function visibleWidth(text) {
	let width = 0;
	for (const char of String(text).replace(ANSI, "")) {
		const code = char.codePointAt(0);
		if (code < 32 || (code >= 0x300 && code <= 0x36f) || code === 0x200d || (code >= 0xfe00 && code <= 0xfe0f)) continue;
		const isWide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) || (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) || (code >= 0x1f300 && code <= 0x1faff);
		width += isWide ? 2 : 1;
	}
	return width;
}

/** Shortens a text to a number of columns. */
export function truncateToWidth(text, maxWidth, ellipsis = "...", pad = false) {
	let result = String(text);
	if (visibleWidth(result) > maxWidth) {
		const room = Math.max(0, maxWidth - visibleWidth(ellipsis));
		let width = 0;
		let kept = "";
		for (const piece of result.match(new RegExp(`${ANSI.source}|.`, "gsu")) ?? []) {
			const size = visibleWidth(piece);
			if (width + size > room) break;
			kept += piece;
			width += size;
		}
		result = `${kept}${ellipsis}`;
	}
	return pad ? result + " ".repeat(Math.max(0, maxWidth - visibleWidth(result))) : result;
}

/** Breaks a text into lines of at most `width` columns, at spaces where possible. */
export function wrapTextWithAnsi(text, width) {
	const lines = [];
	for (const paragraph of String(text).split("\n")) {
		let line = "";
		for (const word of paragraph.split(/(?<= )/)) {
			if (line && visibleWidth(line + word.trimEnd()) > width) {
				lines.push(line.trimEnd());
				line = "";
			}
			line += word;
			while (visibleWidth(line) > width) {
				const part = truncateToWidth(line, width, "");
				if (!part) break;
				lines.push(part);
				line = line.slice(part.length);
			}
		}
		lines.push(line);
	}
	return lines;
}

export class Text {
	constructor(text = "", paddingX = 1, paddingY = 1) {
		this.text = text;
		this.paddingX = paddingX;
		this.paddingY = paddingY;
	}
	setText(text) {
		this.text = text;
	}
	invalidate() {}
	render(width) {
		if (!this.text.trim()) return [];
		const side = " ".repeat(this.paddingX);
		const lines = wrapTextWithAnsi(this.text, Math.max(1, width - 2 * this.paddingX)).map((line) => side + line);
		const space = Array(this.paddingY).fill("");
		return [...space, ...lines, ...space];
	}
}

export class Spacer {
	constructor(lines = 1) {
		this.lines = lines;
	}
	invalidate() {}
	render() {
		return Array(this.lines).fill("");
	}
}

export class Container {
	children = [];
	addChild(child) {
		this.children.push(child);
	}
	removeChild(child) {
		this.children = this.children.filter((known) => known !== child);
	}
	clear() {
		this.children = [];
	}
	invalidate() {
		for (const child of this.children) child.invalidate?.();
	}
	render(width) {
		return this.children.flatMap((child) => child.render(width));
	}
}

/** Draws its children with a padding and a background. */
export class Box extends Container {
	constructor(paddingX = 1, paddingY = 1, bgFn) {
		super();
		this.paddingX = paddingX;
		this.paddingY = paddingY;
		this.bgFn = bgFn;
	}
	setBgFn(bgFn) {
		this.bgFn = bgFn;
	}
	render(width) {
		const side = " ".repeat(this.paddingX);
		const inner = super.render(Math.max(1, width - 2 * this.paddingX));
		if (!inner.length) return [];
		const draw = (line) => {
			const text = side + line;
			const full = text + " ".repeat(Math.max(0, width - visibleWidth(text)));
			return this.bgFn ? this.bgFn(full) : full;
		};
		const space = Array(this.paddingY).fill(draw(""));
		return [...space, ...inner.map(draw), ...space];
	}
}

/** One line, shortened to the width. */
export class TruncatedText {
	constructor(text, paddingX = 0, paddingY = 0) {
		this.text = text;
		this.paddingX = paddingX;
		this.paddingY = paddingY;
	}
	invalidate() {}
	render(width) {
		const side = " ".repeat(this.paddingX);
		const line = side + truncateToWidth(this.text.split("\n")[0], Math.max(1, width - 2 * this.paddingX));
		const space = Array(this.paddingY).fill("");
		return [...space, line, ...space];
	}
}
