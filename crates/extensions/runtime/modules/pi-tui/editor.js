// A text field of many lines.

import { getKeybindings } from "osier:modules/pi-tui/keybindings.js";
import { isKeyRelease } from "osier:modules/pi-tui/keys.js";
import { SelectList } from "osier:modules/pi-tui/lists.js";
import { TextBuffer, typed } from "osier:modules/pi-tui/input.js";
import { CURSOR_MARKER, renderFakeCursor, truncateToWidth, visibleWidth } from "osier:modules/pi-tui/text.js";

const same = (text) => text;
const PASTE_START = "\u001b[200~";
/** A longer paste is shown as a marker. */
const MAX_PASTE_LINES = 10;
const MAX_PASTE_CHARS = 1000;

/** Breaks graphemes into rows of at most `width` columns, at spaces where possible. Each row has its first place. */
function rowsOf(parts, width) {
	const rows = [];
	let start = 0;
	let used = 0;
	let space = -1;
	for (let at = 0; at < parts.length; at += 1) {
		const size = visibleWidth(parts[at]);
		if (used + size > width && at > start) {
			const end = space > start ? space : at;
			rows.push({ start, end });
			start = end;
			used = visibleWidth(parts.slice(start, at).join(""));
			space = -1;
		}
		used += size;
		if (/^\s$/.test(parts[at])) space = at + 1;
	}
	rows.push({ start, end: parts.length });
	return rows;
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
	#list;
	#listPrefix = "";
	#maxVisible;
	#width = 80;
	#pastes = [];
	/** The column that moving up and down tries to keep. */
	#goal;
	#firstRow = 0;
	constructor(tui, theme = {}, options = {}) {
		this.tui = tui;
		this.theme = theme;
		this.options = options;
		this.borderColor = theme.borderColor ?? same;
		this.paddingX = options.paddingX ?? 0;
		this.#maxVisible = options.autocompleteMaxVisible ?? 5;
	}
	getText() {
		return this.#buffer.text;
	}
	/** The text with pastes instead of their markers. */
	getExpandedText() {
		return this.#pastes.reduce((text, { marker, paste }) => text.replace(marker, () => paste), this.getText());
	}
	#fold(paste) {
		const lines = paste.split("\n").length;
		if (lines <= MAX_PASTE_LINES && paste.length <= MAX_PASTE_CHARS) return paste;
		const size = lines > MAX_PASTE_LINES ? `+${lines} lines` : `${paste.length} chars`;
		const marker = `[paste #${this.#pastes.length + 1} ${size}]`;
		this.#pastes.push({ marker, paste });
		return marker;
	}
	getLines() {
		return this.getText().split("\n");
	}
	getCursor() {
		const { row, column, lines } = this.#buffer;
		return { line: row, col: lines[row].slice(0, column).join("").length };
	}
	/** Moves the cursor. `col` counts UTF-16 units, as in `getCursor`. */
	setCursor(line, col) {
		const { lines } = this.#buffer;
		const row = Math.max(0, Math.min(line, lines.length - 1));
		let length = 0;
		let column = 0;
		while (column < lines[row].length && length < col) {
			length += lines[row][column].length;
			column += 1;
		}
		Object.assign(this.#buffer, { row, column });
	}
	setText(text) {
		this.#buffer.remember();
		this.#buffer.set(String(text).replace(/\r\n?/g, "\n").replaceAll("\t", "    "));
		this.#historyIndex = -1;
		this.#list = undefined;
		this.onChange?.(this.getText());
	}
	insertTextAtCursor(text) {
		this.#buffer.insert(String(text).replace(/\r\n?/g, "\n"));
		this.onChange?.(this.getText());
	}
	addToHistory(text) {
		const trimmed = String(text).trim();
		if (trimmed && this.#history[0] !== trimmed) this.#history.unshift(trimmed);
	}
	setAutocompleteProvider(provider) {
		this.#provider = provider;
	}
	getAutocompleteProvider() {
		return this.#provider;
	}
	isShowingAutocomplete() {
		return this.#list !== undefined;
	}
	setPaddingX(padding) {
		this.paddingX = padding;
	}
	getPaddingX() {
		return this.paddingX;
	}
	setAutocompleteMaxVisible(count) {
		this.#maxVisible = count;
	}
	getAutocompleteMaxVisible() {
		return this.#maxVisible;
	}
	invalidate() {}
	/** All rows of the text: the line, and the part of it. */
	#rows(width = this.#width) {
		const room = Math.max(1, width - 2 * this.paddingX - (this.paddingX ? 0 : 1));
		return this.#buffer.lines.flatMap((line, number) => rowsOf(line, room).map((part) => ({ number, ...part })));
	}
	#cursorRow(rows) {
		const { row, column } = this.#buffer;
		return rows.findLastIndex((part) => part.number === row && part.start <= column);
	}
	isOnFirstRow() {
		return this.#cursorRow(this.#rows()) === 0;
	}
	isOnLastRow() {
		const rows = this.#rows();
		return this.#cursorRow(rows) === rows.length - 1;
	}
	#recall(step) {
		const next = this.#historyIndex + step;
		if (next < -1 || next >= this.#history.length) return false;
		this.#historyIndex = next;
		this.#buffer.set(next < 0 ? "" : this.#history[next]);
		return true;
	}
	/** Moves by a row of the screen; from the first and the last one, to the start and the end of the text. */
	#moveVertically(step) {
		const rows = this.#rows();
		const from = this.#cursorRow(rows);
		const to = rows[from + step];
		if (!to) {
			this.#buffer.column = step < 0 ? 0 : this.#buffer.lines.at(-1).length;
			return;
		}
		const widthOf = (row, start, end) => visibleWidth(this.#buffer.lines[row].slice(start, end).join(""));
		const goal = this.#goal ?? widthOf(rows[from].number, rows[from].start, this.#buffer.column);
		// Behind the last character of a row that goes on is the next row.
		const goesOn = rows.some((row) => row !== to && row.number === to.number && row.start === to.end);
		let column = to.start;
		while (column < (goesOn ? to.end - 1 : to.end) && widthOf(to.number, to.start, column + 1) <= goal) column += 1;
		Object.assign(this.#buffer, { row: to.number, column });
		this.#goal = goal;
	}
	#submit() {
		if (this.disableSubmit) return;
		const text = this.getExpandedText().trim();
		this.#pastes = [];
		this.#buffer.set("");
		this.#historyIndex = -1;
		this.onChange?.("");
		this.onSubmit?.(text);
	}
	/** Handles a key of the open list of completions. */
	#handleList(data) {
		const keys = getKeybindings();
		if (keys.matches(data, "tui.select.cancel")) this.#list = undefined;
		else if (keys.matches(data, "tui.input.tab") || keys.matches(data, "tui.select.confirm")) this.#complete(this.#list.getSelectedItem());
		else if (["tui.select.up", "tui.select.down", "tui.select.pageUp", "tui.select.pageDown"].some((action) => keys.matches(data, action))) this.#list.handleInput(data);
		else return false;
		return true;
	}
	#complete(item) {
		const { line, col } = this.getCursor();
		const applied = this.#provider.applyCompletion(this.getLines(), line, col, item, this.#listPrefix);
		this.#buffer.remember();
		this.#buffer.set(applied.lines.join("\n"));
		this.setCursor(applied.cursorLine, applied.cursorCol);
		this.#list = undefined;
	}
	async #suggest(force) {
		if (!this.#provider) return;
		const before = this.getText();
		const { line, col } = this.getCursor();
		const found = await this.#provider.getSuggestions(this.getLines(), line, col, { signal: new AbortController().signal, force });
		if (this.getText() !== before) return;
		this.#listPrefix = found?.prefix ?? "";
		this.#list = found?.items?.length ? new SelectList(found.items, this.#maxVisible, this.theme.selectList ?? {}) : undefined;
		this.tui?.requestRender?.();
	}
	handleInput(data) {
		if (isKeyRelease(data)) return;
		const keys = getKeybindings();
		const is = (action) => keys.matches(data, action);
		const before = this.getText();
		if (!is("tui.editor.cursorUp") && !is("tui.editor.cursorDown")) this.#goal = undefined;
		if (this.#list && this.#handleList(data)) {
			// The list took it.
		} else if (is("tui.input.newLine")) this.#buffer.insert("\n");
		else if (is("tui.input.submit")) {
			const { line, col } = this.getCursor();
			// A backslash before Enter starts a new line, for terminals without Shift+Enter.
			if (this.getLines()[line][col - 1] !== "\\") return this.#submit();
			this.#buffer.handle("\u007f");
			this.#buffer.insert("\n");
		} else if (is("tui.input.tab")) {
			this.#suggest(true);
		} else if (is("tui.editor.cursorUp")) {
			const recalls = (before === "" || this.#historyIndex >= 0) && this.isOnFirstRow();
			if (!(recalls && this.#recall(1))) this.#moveVertically(-1);
		} else if (is("tui.editor.cursorDown")) {
			if (!(this.#historyIndex >= 0 && this.isOnLastRow() && this.#recall(-1))) this.#moveVertically(1);
		} else if (!this.#buffer.handle(data)) {
			const text = typed(data);
			if (text !== undefined && data.startsWith(PASTE_START)) this.#buffer.insert(this.#fold(text.replaceAll("\t", "    ")));
			else if (text !== undefined) this.#buffer.type(text);
		}
		if (this.getText() !== before) {
			if (this.#list || this.#provider) this.#suggest(false);
			this.onChange?.(this.getText());
		}
		this.tui?.requestRender?.();
	}
	renderTopBorder(width, hidden = 0) {
		return this.#border(width, hidden, "↑");
	}
	renderBottomBorder(width, hidden = 0) {
		return this.#border(width, hidden, "↓");
	}
	#border(width, hidden, arrow) {
		if (!hidden) return this.borderColor("─".repeat(width));
		const label = ` ${arrow} ${hidden} more `;
		const before = Math.floor((width - visibleWidth(label)) / 2);
		if (before < 1) return this.borderColor(truncateToWidth(`───${label}`, width));
		return this.borderColor("─".repeat(before) + label + "─".repeat(width - before - visibleWidth(label)));
	}
	#row({ number, start, end }, isCursorRow, width) {
		const { lines, column } = this.#buffer;
		const side = " ".repeat(this.paddingX);
		const parts = lines[number].slice(start, end);
		if (!isCursorRow) return side + parts.join("");
		const marker = this.focused ? CURSOR_MARKER : "";
		const at = column - start;
		const text = parts.slice(0, at).join("") + marker + renderFakeCursor(parts[at] ?? " ") + parts.slice(at + 1).join("");
		return side + text + " ".repeat(Math.max(0, width - visibleWidth(side + text)));
	}
	render(width) {
		this.#width = width;
		const rows = this.#rows(width);
		const cursorRow = this.#cursorRow(rows);
		const most = Math.max(5, Math.floor((this.tui?.terminal?.rows ?? 24) * 0.3));
		this.#firstRow = Math.max(0, Math.min(Math.max(this.#firstRow, cursorRow - most + 1), cursorRow, rows.length - most));
		const shown = rows.slice(this.#firstRow, this.#firstRow + most);
		const lines = shown.map((row, at) => this.#row(row, this.#firstRow + at === cursorRow, width));
		const below = rows.length - this.#firstRow - shown.length;
		const list = this.#list?.render(width) ?? [];
		return [this.renderTopBorder(width, this.#firstRow), ...lines, this.renderBottomBorder(width, below), ...list];
	}
}

/** Completions of commands and files. Osier completes its own in the prompt editor. */
export class CombinedAutocompleteProvider {
	constructor(commands = [], basePath = "") {
		Object.assign(this, { commands, basePath });
	}
	async getSuggestions(lines, line, column) {
		const before = (lines[line] ?? "").slice(0, column);
		if (line !== 0 || !/^\/\S*$/.test(before)) return null;
		const items = this.commands
			.map((command) => ({ value: command.name ?? command.value, label: command.name ?? command.label ?? command.value, description: command.description }))
			.filter(({ value }) => value.startsWith(before.slice(1)));
		return items.length ? { items, prefix: before } : null;
	}
	applyCompletion(lines, line, column, item, prefix) {
		const text = lines[line] ?? "";
		const start = Math.max(0, column - prefix.length);
		const value = prefix.startsWith("/") ? `/${item.value} ` : item.value;
		const next = [...lines];
		next[line] = text.slice(0, start) + value + text.slice(column);
		return { lines: next, cursorLine: line, cursorCol: start + value.length };
	}
}
