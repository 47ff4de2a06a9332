// Markdown as lines. Rust parses it.

import { native, parse } from "osier:primitives.js";
import { hyperlink, padLine, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "osier:modules/pi-tui/text.js";

const same = (text) => text;

export class Markdown {
	#cache;
	constructor(text, paddingX = 1, paddingY = 1, theme = {}, defaultTextStyle, options = {}) {
		Object.assign(this, { text, paddingX, paddingY, theme, defaultTextStyle, options });
	}
	setText(text) {
		this.text = text;
		this.#cache = undefined;
	}
	invalidate() {
		this.#cache = undefined;
	}
	#style(name) {
		return this.theme[name] ?? same;
	}
	#plain(text) {
		const { color, bold, italic, underline, strikethrough } = this.defaultTextStyle ?? {};
		let styled = color ? color(text) : text;
		if (bold) styled = this.#style("bold")(styled);
		if (italic) styled = this.#style("italic")(styled);
		if (underline) styled = this.#style("underline")(styled);
		return strikethrough ? this.#style("strikethrough")(styled) : styled;
	}
	#run(run, base) {
		if (run.code) return this.#style("code")(run.text);
		let styled = run.link ? this.#style("link")(this.#style("underline")(run.text)) : base(run.text);
		if (run.bold) styled = this.#style("bold")(styled);
		if (run.italic) styled = this.#style("italic")(styled);
		if (run.strike) styled = this.#style("strikethrough")(styled);
		if (!run.link) return styled;
		return run.link === run.text || run.link === `mailto:${run.text}` ? styled : `${hyperlink(styled, run.link)}`;
	}
	#runs(runs, base = (text) => this.#plain(text)) {
		return runs.map((run) => this.#run(run, base)).join("");
	}
	#table({ rows, alignments }, width) {
		const cells = rows.map((row) => row.map((runs) => this.#runs(runs)));
		const count = Math.max(...cells.map((row) => row.length));
		const natural = Array.from({ length: count }, (_, at) => Math.max(3, ...cells.map((row) => visibleWidth(row[at] ?? ""))));
		const room = width - 3 * count - 1;
		const total = natural.reduce((sum, size) => sum + size, 0);
		const sizes = total <= room ? natural : natural.map((size) => Math.max(3, Math.floor((size * room) / total)));
		const border = (left, middle, right) => `${left}${sizes.map((size) => "─".repeat(size + 2)).join(middle)}${right}`;
		const align = (text, size, at) => {
			const space = Math.max(0, size - visibleWidth(text));
			if (alignments[at] === "right") return " ".repeat(space) + text;
			const before = alignments[at] === "center" ? Math.floor(space / 2) : 0;
			return " ".repeat(before) + text + " ".repeat(space - before);
		};
		const lines = [border("┌", "┬", "┐")];
		for (const [number, row] of cells.entries()) {
			const wrapped = sizes.map((size, at) => wrapTextWithAnsi(row[at] ?? "", size));
			for (let line = 0; line < Math.max(...wrapped.map((part) => part.length)); line += 1) {
				const parts = wrapped.map((part, at) => {
					const text = align(part[line] ?? "", sizes[at], at);
					return number === 0 ? this.#style("bold")(text) : text;
				});
				lines.push(`│ ${parts.join(" │ ")} │`);
			}
			lines.push(number + 1 < cells.length ? border("├", "┼", "┤") : border("└", "┴", "┘"));
		}
		return lines.map((line) => truncateToWidth(line, width, ""));
	}
	#list({ start, items }, width) {
		return items.flatMap((blocks, at) => {
			const bullet = start === null ? "- " : `${start + at}. `;
			const indent = " ".repeat(bullet.length);
			const lines = this.#blocks(blocks, Math.max(1, width - bullet.length), true);
			return lines.map((line, number) => (number === 0 ? this.#style("listBullet")(bullet) : indent) + line);
		});
	}
	#block(block, width) {
		switch (block.kind) {
			case "heading": {
				const prefix = block.level > 2 ? `${"#".repeat(block.level)} ` : "";
				const style = (text) => this.#style("heading")(this.#style("bold")(block.level === 1 ? this.#style("underline")(text) : text));
				return wrapTextWithAnsi(style(prefix) + this.#runs(block.runs, style), width);
			}
			case "code": {
				const indent = this.theme.codeBlockIndent ?? "  ";
				const border = this.#style("codeBlockBorder");
				const code = this.theme.highlightCode?.(block.text, block.language || undefined) ?? block.text.split("\n").map(this.#style("codeBlock"));
				return [border(`\`\`\`${block.language}`), ...code.flatMap((line) => wrapTextWithAnsi(indent + line, width)), border("```")];
			}
			case "quote": {
				const style = (line) => this.#style("quoteBorder")("│ ") + this.#style("quote")(this.#style("italic")(line));
				return this.#blocks(block.blocks, Math.max(1, width - 2)).map(style);
			}
			case "list":
				return this.#list(block, width);
			case "table":
				return this.#table(block, width);
			case "rule":
				return [this.#style("hr")("─".repeat(Math.min(width, 80)))];
			default:
				return wrapTextWithAnsi(this.#runs(block.runs), width);
		}
	}
	#blocks(blocks, width, tight = false) {
		const lines = [];
		for (const [at, block] of blocks.entries()) {
			if (at > 0 && !(tight && (block.kind === "list" || blocks[at - 1].kind !== "paragraph"))) lines.push("");
			lines.push(...this.#block(block, width));
		}
		return lines;
	}
	render(width) {
		const key = `${width} ${this.text}`;
		if (this.#cache?.key === key) return this.#cache.lines;
		const text = String(this.text ?? "");
		if (!text.trim()) return [];
		const inner = this.#blocks(parse(native.text.markdown(text.replaceAll("\t", "   "))), Math.max(1, width - 2 * this.paddingX));
		const draw = (line) => padLine(line, width, this.paddingX, this.defaultTextStyle?.bgColor);
		const space = Array(this.paddingY).fill(draw(""));
		const lines = [...space, ...inner.map(draw), ...space];
		this.#cache = { key, lines };
		return lines;
	}
}
