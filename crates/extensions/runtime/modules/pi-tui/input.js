// Text fields: one line (`Input`) and many (`Editor`).

import { getKeybindings } from "osier:modules/pi-tui/keybindings.js";
import { isKeyRelease, parseKey } from "osier:modules/pi-tui/keys.js";
import { CURSOR_MARKER, graphemes, renderFakeCursor, visibleWidth } from "osier:modules/pi-tui/text.js";

const PASTE = /^\u001b\[200~([\s\S]*?)(?:\u001b\[201~)?$/;

/** The text that a key types; undefined for other keys. */
function typed(data) {
	const paste = data.match(PASTE);
	if (paste) return paste[1].replace(/\r\n?/g, "\n");
	if (data.startsWith("\u001b")) {
		const key = parseKey(data);
		const plain = key?.replace(/^shift\+/, "");
		if (plain === "space") return " ";
		return plain && graphemes(plain).length === 1 ? (key === plain ? plain : plain.toUpperCase()) : undefined;
	}
	// eslint-disable-next-line no-control-regex
	return /[\u0000-\u001f\u007f]/.test(data) ? undefined : data;
}

/** Where the word before or after a place begins or ends, in graphemes. */
function wordStart(parts, at) {
	let place = at;
	while (place > 0 && /\s/.test(parts[place - 1])) place -= 1;
	while (place > 0 && !/\s/.test(parts[place - 1])) place -= 1;
	return place;
}
function wordEnd(parts, at) {
	let place = at;
	while (place < parts.length && /\s/.test(parts[place])) place += 1;
	while (place < parts.length && !/\s/.test(parts[place])) place += 1;
	return place;
}

/** Edits a text by keys. Lines are lists of graphemes. */
class TextBuffer {
	lines = [[]];
	row = 0;
	column = 0;
	#killed = "";
	#undo = [];
	get text() {
		return this.lines.map((line) => line.join("")).join("\n");
	}
	set(text) {
		this.lines = String(text).split("\n").map(graphemes);
		this.row = this.lines.length - 1;
		this.column = this.lines[this.row].length;
	}
	remember() {
		this.#undo.push([this.text, this.row, this.column]);
		if (this.#undo.length > 100) this.#undo.shift();
	}
	insert(text) {
		this.remember();
		const [first, ...rest] = text.split("\n").map(graphemes);
		const line = this.lines[this.row];
		const tail = line.splice(this.column);
		line.push(...first);
		this.column = line.length;
		for (const next of rest) {
			this.row += 1;
			this.lines.splice(this.row, 0, next);
			this.column = next.length;
		}
		this.lines[this.row].push(...tail);
	}
	#cut(from, to, keeps) {
		this.remember();
		const removed = this.lines[this.row].splice(from, to - from);
		if (keeps) this.#killed = removed.join("");
		this.column = from;
	}
	#joinNext() {
		if (this.row + 1 >= this.lines.length) return;
		this.remember();
		this.lines[this.row].push(...this.lines.splice(this.row + 1, 1)[0]);
	}
	/** Whether the key moved the cursor or changed the text. */
	handle(data) {
		const keys = getKeybindings();
		const is = (action) => keys.matches(data, `tui.editor.${action}`);
		const line = this.lines[this.row];
		if (is("cursorLeft")) {
			if (this.column > 0) this.column -= 1;
			else if (this.row > 0) this.column = this.lines[(this.row -= 1)].length;
		} else if (is("cursorRight")) {
			if (this.column < line.length) this.column += 1;
			else if (this.row + 1 < this.lines.length) [this.row, this.column] = [this.row + 1, 0];
		} else if (is("cursorUp")) {
			if (this.row > 0) this.row -= 1;
			else this.column = 0;
			this.column = Math.min(this.column, this.lines[this.row].length);
		} else if (is("cursorDown")) {
			if (this.row + 1 < this.lines.length) this.row += 1;
			else this.column = line.length;
			this.column = Math.min(this.column, this.lines[this.row].length);
		} else if (is("cursorWordLeft")) this.column = wordStart(line, this.column);
		else if (is("cursorWordRight")) this.column = wordEnd(line, this.column);
		else if (is("cursorLineStart")) this.column = 0;
		else if (is("cursorLineEnd")) this.column = line.length;
		else if (is("deleteCharBackward")) {
			if (this.column > 0) this.#cut(this.column - 1, this.column);
			else if (this.row > 0) {
				this.row -= 1;
				this.column = this.lines[this.row].length;
				this.#joinNext();
			}
		} else if (is("deleteCharForward")) {
			if (this.column < line.length) this.#cut(this.column, this.column + 1);
			else this.#joinNext();
		} else if (is("deleteWordBackward")) this.#cut(wordStart(line, this.column), this.column, true);
		else if (is("deleteWordForward")) this.#cut(this.column, wordEnd(line, this.column), true);
		else if (is("deleteToLineStart")) this.#cut(0, this.column, true);
		else if (is("deleteToLineEnd")) this.#cut(this.column, line.length, true);
		else if (is("yank")) this.insert(this.#killed);
		else if (is("undo")) {
			const last = this.#undo.pop();
			if (last) {
				this.set(last[0]);
				[this.row, this.column] = [last[1], last[2]];
			}
		} else return false;
		return true;
	}
}

export class Input {
	focused = false;
	onSubmit;
	onEscape;
	#buffer = new TextBuffer();
	getValue() {
		return this.#buffer.text;
	}
	setValue(value) {
		this.#buffer.set(String(value).replace(/\n/g, " "));
	}
	invalidate() {}
	handleInput(data) {
		if (isKeyRelease(data)) return;
		const keys = getKeybindings();
		if (keys.matches(data, "tui.select.cancel")) return this.onEscape?.();
		if (keys.matches(data, "tui.input.submit") || data === "\n") return this.onSubmit?.(this.getValue());
		if (this.#buffer.handle(data)) return;
		const text = typed(data);
		if (text !== undefined) this.#buffer.insert(text.replace(/\n/g, " "));
	}
	render(width) {
		const prompt = "> ";
		const parts = this.#buffer.lines[0];
		const { column } = this.#buffer;
		const room = Math.max(1, width - visibleWidth(prompt) - 1);
		let start = 0;
		while (visibleWidth(parts.slice(start, column).join("")) > room) start += 1;
		let line = "";
		for (const [at, part] of [...parts, " "].entries()) {
			if (at < start) continue;
			if (visibleWidth(line) + visibleWidth(part) > room + 1) break;
			line += at === column ? (this.focused ? CURSOR_MARKER : "") + renderFakeCursor(part) : part;
		}
		return [prompt + line];
	}
}

export class Editor {
	focused = false;
	onSubmit;
	onChange;
	disableSubmit = false;
	#buffer = new TextBuffer();
	#history = [];
	#historyIndex = -1;
	#provider;
	constructor(tui, theme = {}, options = {}) {
		this.tui = tui;
		this.theme = theme;
		this.options = options;
		this.borderColor = theme.borderColor ?? ((text) => text);
		this.paddingX = options.paddingX ?? 0;
	}
	getText() {
		return this.#buffer.text;
	}
	getExpandedText() {
		return this.#buffer.text;
	}
	getLines() {
		return this.getText().split("\n");
	}
	getCursor() {
		const { row, column, lines } = this.#buffer;
		return { line: row, col: lines[row].slice(0, column).join("").length };
	}
	setText(text) {
		this.#buffer.remember();
		this.#buffer.set(text);
		this.onChange?.(this.getText());
	}
	insertTextAtCursor(text) {
		this.#buffer.insert(String(text));
		this.onChange?.(this.getText());
	}
	addToHistory(text) {
		if (text.trim() && this.#history[0] !== text) this.#history.unshift(text);
	}
	setAutocompleteProvider(provider) {
		this.#provider = provider;
	}
	getAutocompleteProvider() {
		return this.#provider;
	}
	isShowingAutocomplete() {
		return false;
	}
	setPaddingX(padding) {
		this.paddingX = padding;
	}
	getPaddingX() {
		return this.paddingX;
	}
	setAutocompleteMaxVisible() {}
	invalidate() {}
	#recall(step) {
		const next = this.#historyIndex + step;
		if (next < -1 || next >= this.#history.length) return false;
		this.#historyIndex = next;
		this.#buffer.set(next < 0 ? "" : this.#history[next]);
		return true;
	}
	handleInput(data) {
		if (isKeyRelease(data)) return;
		const keys = getKeybindings();
		const before = this.getText();
		if (keys.matches(data, "tui.input.newLine")) this.#buffer.insert("\n");
		else if (keys.matches(data, "tui.input.submit")) {
			if (this.disableSubmit) return;
			const text = before.trim();
			this.#buffer.set("");
			this.#historyIndex = -1;
			this.onChange?.("");
			this.onSubmit?.(text);
			return;
		} else if (keys.matches(data, "tui.editor.cursorUp") && (before === "" || this.#historyIndex >= 0) && this.#buffer.row === 0 && this.#recall(1)) {
			// An earlier text.
		} else if (keys.matches(data, "tui.editor.cursorDown") && this.#historyIndex >= 0 && this.#recall(-1)) {
			// A later text.
		} else if (!this.#buffer.handle(data)) {
			const text = typed(data);
			if (text !== undefined) this.#buffer.insert(text);
		}
		if (this.getText() !== before) this.onChange?.(this.getText());
		this.tui?.requestRender?.();
	}
	renderTopBorder(width) {
		return this.borderColor("─".repeat(width));
	}
	render(width) {
		const room = Math.max(1, width - 1 - 2 * this.paddingX);
		const border = this.borderColor("─".repeat(width));
		const side = " ".repeat(this.paddingX);
		const { lines, row, column } = this.#buffer;
		const rows = lines.flatMap((line, at) => {
			const isCursorRow = at === row;
			const cells = isCursorRow ? [...line, " "] : line;
			const wrapped = [""];
			let used = 0;
			for (const [place, part] of cells.entries()) {
				const size = visibleWidth(part);
				if (used + size > room && !(place === line.length)) {
					wrapped.push("");
					used = 0;
				}
				const isCursor = isCursorRow && place === column;
				if (place === line.length && !isCursor) continue;
				wrapped[wrapped.length - 1] += isCursor ? (this.focused ? CURSOR_MARKER : "") + renderFakeCursor(part) : part;
				used += size;
			}
			return wrapped.map((text) => side + text);
		});
		return [this.renderTopBorder(width, 0), ...rows, border];
	}
}

/** Completions of several sources. */
export class CombinedAutocompleteProvider {
	constructor(commands = [], basePath = "") {
		Object.assign(this, { commands, basePath });
	}
	getSuggestions() {
		return null;
	}
	applyCompletion(lines, line, col) {
		return { lines, cursorLine: line, cursorCol: col };
	}
}
