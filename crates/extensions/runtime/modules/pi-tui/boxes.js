// Components that only show something.

import { imageFallback, padLine, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "osier:modules/pi-tui/text.js";

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
	setPaddingX(padding) {
		this.paddingX = padding;
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
/** Children with sizes: a component, or an object with `component` and `basis`, `grow`, `shrink`, `minSize`, `maxSize`, `visible`. */
class Stack extends Container {
	entries = [];
	constructor(children = [], options = {}) {
		super();
		this.gap = Math.max(0, options.gap ?? 0);
		this.align = options.align ?? "stretch";
		for (const child of children) typeof child.render === "function" ? this.addChild(child) : this.addChild(child.component, child);
	}
	addChild(component, options = {}) {
		super.addChild(component);
		this.entries.push({ ...options, component });
	}
	removeChild(component) {
		super.removeChild(component);
		this.entries = this.entries.filter((entry) => entry.component !== component);
	}
	clear() {
		super.clear();
		this.entries = [];
	}
	shown(width) {
		return this.entries.filter(({ visible }) => typeof visible !== "function" || visible({ width, height: 24 }));
	}
}

/** Its children one below the other. */
export class VStack extends Stack {
	render(width) {
		const space = Array(this.gap).fill("");
		return this.shown(width).flatMap(({ component }, at) => [...(at ? space : []), ...component.render(width)]);
	}
}

/** Its children side by side. */
export class HStack extends Stack {
	/** The widths of the children: what they need, then more or less of it until the row is full. */
	#sizes(entries, room) {
		const bounded = (size, { minSize = 1, maxSize = Infinity }) => Math.max(minSize, Math.min(size, maxSize));
		const natural = ({ component, basis }) => (typeof basis === "number" ? basis : Math.max(0, ...component.render(room).map((line) => visibleWidth(line.trimEnd()))));
		const sizes = entries.map((entry) => bounded(natural(entry), entry));
		let left = room - sizes.reduce((sum, size) => sum + size, 0);
		const parts = entries.map((entry) => (left > 0 ? (entry.grow ?? 0) : (entry.shrink ?? 1)));
		while (left !== 0) {
			const at = sizes.reduce((best, size, index) => {
				const canChange = parts[index] > 0 && bounded(size + Math.sign(left), entries[index]) !== size;
				if (!canChange) return best;
				// The widest gives first, and the one with the least for its part gets first.
				const better = best < 0 || (left > 0 ? size / parts[index] < sizes[best] / parts[best] : size > sizes[best]);
				return better ? index : best;
			}, -1);
			if (at < 0) break;
			sizes[at] += Math.sign(left);
			left -= Math.sign(left);
		}
		return sizes;
	}
	render(width) {
		const entries = this.shown(width);
		if (!entries.length) return [];
		const sizes = this.#sizes(entries, Math.max(entries.length, width - this.gap * (entries.length - 1)));
		const columns = entries.map(({ component }, at) => component.render(sizes[at]));
		const height = Math.max(...columns.map((lines) => lines.length));
		const row = (at) => columns.map((lines, column) => truncateToWidth(lines[at - this.#before(height, lines.length)] ?? "", sizes[column], "", true)).join(" ".repeat(this.gap));
		return Array.from({ length: height }, (_, at) => truncateToWidth(row(at), width, ""));
	}
	#before(height, length) {
		if (this.align === "center") return Math.floor((height - length) / 2);
		return this.align === "end" ? height - length : 0;
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
	setPaddingX(padding) {
		this.paddingX = padding;
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

/** A component that can be scrolled. It shows all lines until something limits its height with `updateLayout`. */
export class ScrollView extends Container {
	#top = 0;
	#viewport = 0;
	#content = 0;
	constructor(component, options = {}) {
		super();
		if (component) this.children = [component];
		this.followEnd = options.follow === "end";
		this.isFollowingEnd = this.followEnd;
		this.scrollbar = options.scrollbar ?? "auto";
	}
	get scrollTop() {
		return this.#top;
	}
	get viewportHeight() {
		return this.#viewport;
	}
	setScrollbar(scrollbar) {
		this.scrollbar = scrollbar;
	}
	getContentWidth(width) {
		return width;
	}
	updateLayout(content, viewport) {
		[this.#content, this.#viewport] = [content, viewport];
		this.scrollTo(this.isFollowingEnd ? content : this.#top);
	}
	scrollTo(line) {
		const last = Math.max(0, this.#content - this.#viewport);
		this.#top = Math.max(0, Math.min(line, last));
		this.isFollowingEnd = this.followEnd && this.#top >= last;
	}
	scrollBy(lines) {
		const before = this.#top;
		this.scrollTo(before + lines);
		return this.#top - before;
	}
	scrollToStart() {
		this.scrollTo(0);
	}
	scrollToEnd() {
		this.scrollTo(this.#content);
	}
	addChild() {
		throw new Error("A ScrollView has one child");
	}
	render(width) {
		const lines = super.render(width);
		this.#content = lines.length;
		if (!this.#viewport) return lines;
		this.scrollTo(this.isFollowingEnd ? lines.length : this.#top);
		return lines.slice(this.#top, this.#top + this.#viewport);
	}
}

/** Its child. A terminal of Osier leaves the mouse to its user. */
export class MouseRegion {
	constructor(child, onMouse) {
		Object.assign(this, { child, onMouse });
	}
	invalidate() {
		this.child.invalidate?.();
	}
	handleInput(data) {
		this.child.handleInput?.(data);
	}
	render(width) {
		return this.child.render(width);
	}
}

/** Images are not drawn; their place says what they are. */
export class Image {
	constructor(data, mimeType, theme, options = {}, dimensions) {
		Object.assign(this, { data, mimeType, theme, options, dimensions });
	}
	getImageId() {
		return this.options.imageId;
	}
	invalidate() {}
	render(width) {
		const text = imageFallback(this.mimeType, this.dimensions, this.options.filename);
		return [truncateToWidth(this.theme?.fallbackColor ? this.theme.fallbackColor(text) : text, width)];
	}
}
