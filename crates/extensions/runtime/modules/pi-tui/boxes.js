// Components that only show something.

import { imageFallback, padLine, truncateToWidth, wrapTextWithAnsi } from "osier:modules/pi-tui/text.js";

export class Text {
	constructor(text = "", paddingX = 1, paddingY = 1, customBgFn) {
		this.text = text;
		this.paddingX = paddingX;
		this.paddingY = paddingY;
		this.customBgFn = customBgFn;
	}
	setText(text) {
		this.text = text;
	}
	setCustomBgFn(customBgFn) {
		this.customBgFn = customBgFn;
	}
	invalidate() {}
	render(width) {
		const text = String(this.text ?? "");
		if (!text.trim()) return [];
		const draw = (line) => padLine(line, width, this.paddingX, this.customBgFn);
		const lines = wrapTextWithAnsi(text.replaceAll("\t", "   "), Math.max(1, width - 2 * this.paddingX)).map(draw);
		const space = Array(this.paddingY).fill(draw(""));
		return [...space, ...lines, ...space];
	}
}

export class Spacer {
	constructor(lines = 1) {
		this.lines = lines;
	}
	setLines(lines) {
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
export class VStack extends Container {}

/** Its children side by side, each with the same width. */
export class HStack extends Container {
	constructor(gap = 1) {
		super();
		this.gap = typeof gap === "number" ? gap : 1;
	}
	render(width) {
		const count = this.children.length;
		if (!count) return [];
		const each = Math.max(1, Math.floor((width - this.gap * (count - 1)) / count));
		const columns = this.children.map((child) => child.render(each));
		const height = Math.max(...columns.map((lines) => lines.length));
		return Array.from({ length: height }, (_, row) => columns.map((lines) => truncateToWidth(lines[row] ?? "", each, "", true)).join(" ".repeat(this.gap)));
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
		const inner = super.render(Math.max(1, width - 2 * this.paddingX));
		if (!inner.length) return [];
		const draw = (line) => padLine(line, width, this.paddingX, this.bgFn);
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
	setText(text) {
		this.text = text;
	}
	invalidate() {}
	render(width) {
		const line = padLine(truncateToWidth(String(this.text).split("\n")[0], Math.max(1, width - 2 * this.paddingX)), width, this.paddingX);
		const space = Array(this.paddingY).fill(padLine("", width));
		return [...space, line, ...space];
	}
}

/** A part of a component, as many lines as fit. */
export class ScrollView {
	constructor(child, height = 10) {
		this.child = child;
		this.height = height;
		this.offset = 0;
	}
	scrollBy(lines) {
		this.offset = Math.max(0, this.offset + lines);
	}
	scrollTo(line) {
		this.offset = Math.max(0, line);
	}
	setHeight(height) {
		this.height = height;
	}
	invalidate() {
		this.child?.invalidate?.();
	}
	handleInput(data) {
		this.child?.handleInput?.(data);
	}
	render(width) {
		const lines = this.child?.render(width) ?? [];
		this.offset = Math.min(this.offset, Math.max(0, lines.length - this.height));
		return lines.slice(this.offset, this.offset + this.height);
	}
}

/** Images are not drawn; their place says what they are. */
export class Image {
	constructor(data, mimeType, theme, options = {}) {
		Object.assign(this, { data, mimeType, theme, options });
	}
	invalidate() {}
	render(width) {
		const text = imageFallback(this.mimeType, undefined, this.options.filename);
		return [truncateToWidth(this.theme?.fallbackColor ? this.theme.fallbackColor(text) : text, width)];
	}
}
