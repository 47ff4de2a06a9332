// The prompt editor: an extension may replace it, complete its text, and see its keys first.

import { AbortController } from "osier:abort.js";
import { requireModule } from "osier:commonjs.js";
import { call, handle, notice, report } from "osier:primitives.js";
import { createTui, nextComponent } from "osier:overlays.js";
import { drawEntry, isTerminal, linesOf, requestRender, setFocused, shown, size } from "osier:screen.js";

const byteLength = (text) => Buffer.byteLength(text);
/** The place in a text in UTF-16, for a place in bytes. */
const placeOf = (text, bytes) => Buffer.from(text).subarray(0, bytes).toString().length;

const KEY = "editor";
let factoryInUse;

class EditorEntry {
	number = nextComponent();
	client = 0;
	opens = true;
	create(factory) {
		const { getKeybindings } = requireModule("osier:modules/pi-tui/keybindings.js");
		const { getEditorTheme } = requireModule("osier:modules/pi-coding-agent/components.js");
		const component = factory(createTui(() => this), getEditorTheme(), getKeybindings());
		if (typeof component?.render !== "function") throw new Error("ctx.ui.setEditorComponent: the factory returned no component");
		this.component = component;
		component.onSubmit = (text) => notice("editor.submit", { client: this.client, text: String(text) });
		// Osier handles the keys that are not for editing.
		component.leaveKey = (data) => notice("editor.key", { client: this.client, data });
		setFocused(component, true);
	}
	text() {
		return String(this.component.getText?.() ?? "");
	}
	cursor(text) {
		const place = this.component.getCursor?.();
		if (!place) return byteLength(text);
		const lines = text.split("\n");
		return byteLength([...lines.slice(0, place.line), (lines[place.line] ?? "").slice(0, place.col)].join("\n"));
	}
	draw() {
		const text = this.text();
		return { component: this.number, lines: linesOf(this.component, size.columns), text, cursor: this.cursor(text) };
	}
	send(drawn) {
		notice("editor.draw", { ...drawn, opens: this.opens });
		this.opens = false;
	}
	handleInput(data, client) {
		this.client = client;
		(this.focus ?? this.component).handleInput?.(data);
	}
	setText(text, cursor) {
		if (this.text() !== text) this.component.setText?.(text);
		const before = text.slice(0, placeOf(text, cursor)).split("\n");
		this.component.setCursor?.(before.length - 1, before.at(-1).length);
	}
}

export function setEditorComponent(factory) {
	if (!isTerminal()) return;
	const before = shown.get(KEY);
	const text = before?.text() ?? getEditorText();
	if (before) {
		before.component.dispose?.();
		shown.delete(before.number);
		shown.delete(KEY);
	}
	factoryInUse = undefined;
	if (typeof factory !== "function") {
		if (before) notice("editor.close", {});
		return;
	}
	const entry = new EditorEntry();
	entry.create(factory);
	if (text) entry.setText(text, byteLength(text));
	factoryInUse = factory;
	shown.set(KEY, entry);
	// Keys find it by its number, and it is drawn once.
	shown.set(entry.number, { component: entry.component, handleInput: (data, client) => entry.handleInput(data, client), draw: () => null, send() {} });
	drawEntry(entry);
}
export const getEditorComponent = () => factoryInUse;

/** The text of the user's editor. Asks the terminal. */
export function getEditorText() {
	if (!isTerminal()) return "";
	return shown.get(KEY)?.text() ?? call("ui.editorText", {});
}
export function setEditorText(text) {
	notice("ui.show", { method: "set_editor_text", text: String(text) });
}
/** Inserts text at the cursor. Programs that drive Osier only know how to set the text. */
export function pasteToEditor(text) {
	notice("ui.show", { method: isTerminal() ? "pasteToEditor" : "set_editor_text", text: String(text) });
}

handle("editor.text", ({ text, cursor }) => {
	shown.get(KEY)?.setText(text, cursor);
	requestRender();
});

const listeners = new Set();
/** Sees every key before anything else. */
export function onTerminalInput(listener) {
	if (!isTerminal()) return () => {};
	if (!listeners.size) notice("input.listen", { on: true });
	listeners.add(listener);
	return () => {
		if (listeners.delete(listener) && !listeners.size) notice("input.listen", { on: false });
	};
}
handle("terminalInput", ({ data }) => {
	let current = data;
	for (const listener of [...listeners]) {
		try {
			const answer = listener(current);
			if (answer?.consume) return { consume: true };
			current = answer?.data ?? current;
		} catch (error) {
			report(error);
		}
	}
	return { consume: false, data: current };
});

/** The end of the chain: Osier's own completions, which it shows if an extension has none. */
const ownCompletions = {
	getSuggestions: async () => null,
	applyCompletion(lines, line, column, item, prefix) {
		const text = lines[line] ?? "";
		const start = Math.max(0, column - String(prefix ?? "").length);
		const next = [...lines];
		next[line] = text.slice(0, start) + item.value + text.slice(column);
		return { lines: next, cursorLine: line, cursorCol: start + item.value.length };
	},
	shouldTriggerFileCompletion: () => true,
};
let completions = ownCompletions;

export function addAutocompleteProvider(factory) {
	if (!isTerminal()) return;
	const provider = factory(completions);
	if (typeof provider?.getSuggestions !== "function") throw new Error("ctx.ui.addAutocompleteProvider: the factory returned no provider");
	completions = provider;
	notice("autocomplete.offer", { on: true });
}

/** The most completions that are offered. */
const MAX_ITEMS = 50;
let running;
handle("complete", async ({ text, cursor }) => {
	running?.abort();
	const controller = (running = new AbortController());
	const before = text.slice(0, placeOf(text, cursor)).split("\n");
	const [lines, line, column] = [text.split("\n"), before.length - 1, before.at(-1).length];
	const found = await completions.getSuggestions(lines, line, column, { signal: controller.signal, force: false });
	if (!found?.items?.length || controller.signal.aborted) return null;
	return found.items.slice(0, MAX_ITEMS).map((item) => {
		const apply = completions.applyCompletion ?? ownCompletions.applyCompletion;
		const applied = apply.call(completions, lines, line, column, item, found.prefix);
		const start = applied.lines.slice(0, applied.cursorLine).concat((applied.lines[applied.cursorLine] ?? "").slice(0, applied.cursorCol));
		return { label: String(item.label ?? item.value), description: String(item.description ?? ""), text: applied.lines.join("\n"), cursor: byteLength(start.join("\n")) };
	});
});
