// A text field of one line, and the buffer that text fields edit.

import { getKeybindings } from "osier:modules/pi-tui/keybindings.js";
import { isKeyRelease, parseKey } from "osier:modules/pi-tui/keys.js";
import { CURSOR_MARKER, graphemes, isPunctuationChar, renderFakeCursor, truncateToWidth, visibleWidth } from "osier:modules/pi-tui/text.js";

const PASTE = /^\u001b\[200~([\s\S]*?)(?:\u001b\[201~)?$/;

/** The text that a key types; undefined for other keys. */
export function typed(data) {
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

/** Spaces, punctuation, and everything else. */
const kindOf = (part) => (/^\s/.test(part) ? 0 : isPunctuationChar(part[0]) ? 1 : 2);

/** Where the word before or after a place begins or ends, in graphemes. A run of punctuation is a word. */
function wordStart(parts, at) {
	let place = at;
	while (place > 0 && kindOf(parts[place - 1]) === 0) place -= 1;
	const kind = place > 0 ? kindOf(parts[place - 1]) : 0;
	while (place > 0 && kindOf(parts[place - 1]) === kind) place -= 1;
	return place;
}
function wordEnd(parts, at) {
	let place = at;
	while (place < parts.length && kindOf(parts[place]) === 0) place += 1;
	const kind = place < parts.length ? kindOf(parts[place]) : 0;
	while (place < parts.length && kindOf(parts[place]) === kind) place += 1;
	return place;
}

/** Edits a text by keys. Lines are lists of graphemes. */
export class TextBuffer {
	lines = [[]];
	row = 0;
	column = 0;
	#killed = "";
	#undo = [];
	#isTyping = false;
	get text() {
		return this.lines.map((line) => line.join("")).join("\n");
	}
	set(text) {
		this.lines = String(text).split("\n").map(graphemes);
		this.row = this.lines.length - 1;
		this.column = this.lines[this.row].length;
	}
	remember() {
		this.#isTyping = false;
		this.#undo.push([this.text, this.row, this.column]);
		if (this.#undo.length > 100) this.#undo.shift();
	}
	/** Characters typed one after another are undone together, word by word. */
	type(text) {
		const continues = this.#isTyping && !/^\s/.test(text);
		if (!continues) this.remember();
		this.#add(text);
		this.#isTyping = true;
	}
	insert(text) {
		this.remember();
		this.#add(text);
	}
	#add(text) {
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
		const isHandled = this.#edit(data);
		if (isHandled) this.#isTyping = false;
		return isHandled;
	}
	#edit(data) {
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
	constructor({ prompt = "> ", placeholder = "", placeholderStyle = (text) => text } = {}) {
		Object.assign(this, { prompt, placeholder, placeholderStyle });
	}
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
		if (text !== undefined) this.#buffer.type(text.replace(/\n/g, "").replaceAll("\t", "    "));
	}
	/** The part of the text around the cursor that fits. */
	#visible(room) {
		const { lines, column } = this.#buffer;
		const parts = [...lines[0], ...(column === lines[0].length ? [" "] : [])];
		const before = visibleWidth(parts.slice(0, column).join(""));
		const total = visibleWidth(parts.join(""));
		const half = Math.floor(room / 2);
		const first = total <= room || before < half ? 0 : before > total - half ? total - room : before - half;
		let at = 0;
		let line = "";
		for (const [place, part] of parts.entries()) {
			const size = visibleWidth(part);
			if (at >= first && at + size <= first + room) line += place === column ? (this.focused ? CURSOR_MARKER : "") + renderFakeCursor(part) : part;
			at += size;
		}
		return line;
	}
	render(width) {
		const room = width - visibleWidth(this.prompt);
		if (room <= 0) return [truncateToWidth(this.prompt, Math.max(0, width), "")];
		if (!this.getValue() && this.placeholder) {
			const [first = " ", ...rest] = graphemes(truncateToWidth(this.placeholder, room, ""));
			return [this.prompt + (this.focused ? CURSOR_MARKER : "") + renderFakeCursor(first) + this.placeholderStyle(rest.join(""))];
		}
		return [this.prompt + this.#visible(room)];
	}
}
