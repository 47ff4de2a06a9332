// Components and themes of pi's own interface.

import { Container, Spacer, Text } from "osier:modules/pi-tui/boxes.js";
import { getKeybindings } from "osier:modules/pi-tui/keybindings.js";
import { CancellableLoader, Loader } from "osier:modules/pi-tui/loader.js";
import { Editor } from "osier:modules/pi-tui/editor.js";
import { highlightCode } from "osier:modules/pi-coding-agent/text.js";
import { theme } from "osier:theme.js";

const fg = (color) => (text) => theme.fg(color, text);

export const getMarkdownTheme = () => ({
	heading: fg("mdHeading"), link: fg("mdLink"), linkUrl: fg("mdLinkUrl"), code: fg("mdCode"), codeBlock: fg("mdCodeBlock"), codeBlockBorder: fg("mdCodeBlockBorder"),
	quote: fg("mdQuote"), quoteBorder: fg("mdQuoteBorder"), hr: fg("mdHr"), listBullet: fg("mdListBullet"), bold: theme.bold, italic: theme.italic, underline: theme.underline,
	strikethrough: theme.strikethrough, highlightCode,
});
export const getSelectListTheme = () => ({ selectedPrefix: fg("accent"), selectedText: fg("accent"), description: fg("muted"), scrollInfo: fg("muted"), noMatch: fg("muted") });
export const getSettingsListTheme = () => ({
	label: (text, selected) => (selected ? theme.fg("accent", text) : text),
	value: (text, selected) => theme.fg(selected ? "accent" : "muted", text),
	description: fg("dim"),
	cursor: theme.fg("accent", "→ "),
	hint: fg("dim"),
});
export const initTheme = () => {};

/** A line over the whole width. */
export class DynamicBorder {
	constructor(color = fg("border")) {
		this.color = color;
	}
	invalidate() {}
	render(width) {
		return [this.color("─".repeat(Math.max(1, width)))];
	}
}

export class BorderedLoader extends Container {
	#loader;
	#controller = new AbortController();
	constructor(tui, colors, message, { cancellable = true } = {}) {
		super();
		const [spinner, text] = [(value) => colors.fg("accent", value), (value) => colors.fg("muted", value)];
		this.#loader = new (cancellable ? CancellableLoader : Loader)(tui, spinner, text, message);
		this.addChild(new DynamicBorder((value) => colors.fg("border", value)));
		this.addChild(this.#loader);
		if (cancellable) {
			this.addChild(new Spacer(1));
			this.addChild(new Text(keyHint("tui.select.cancel", "cancel"), 1, 0));
		}
		this.addChild(new Spacer(1));
		this.addChild(new DynamicBorder((value) => colors.fg("border", value)));
	}
	get signal() {
		return this.#loader.signal ?? this.#controller.signal;
	}
	set onAbort(callback) {
		this.#loader.onAbort = callback;
	}
	handleInput(data) {
		this.#loader.handleInput?.(data);
	}
	dispose() {
		this.#loader.stop();
	}
}

export const getEditorTheme = () => ({ borderColor: fg("borderMuted"), selectList: getSelectListTheme() });

/** The editor that extensions extend. Keys that are not for editing go to Osier if it is shown instead of the prompt editor. */
export class CustomEditor extends Editor {
	actionHandlers = new Map();
	onEscape;
	onCtrlD;
	onPasteImage;
	onExtensionShortcut;
	/** Set by Osier: gives it a key. */
	leaveKey;
	constructor(tui, editorTheme, keybindings, options) {
		super(tui, editorTheme, options);
		this.keybindings = keybindings ?? getKeybindings();
		this.embedWorkingStatus = !!options?.embedWorkingStatus;
	}
	setWorkingStatusIndicator() {}
	onAction(action, handler) {
		this.actionHandlers.set(action, handler);
	}
	/** The handler of an action, or what gives the key to Osier. */
	#handlerOf(action, own, data) {
		return own ?? this.actionHandlers.get(action) ?? (this.leaveKey && (() => this.leaveKey(data)));
	}
	/** Whether a key was an action. */
	#act(data) {
		const is = (action) => this.keybindings.matches(data, action);
		if (is("app.interrupt")) return this.#run(this.#handlerOf("app.interrupt", this.onEscape, data));
		if (is("app.exit")) return this.getText() === "" && this.#run(this.#handlerOf("app.exit", this.onCtrlD, data));
		if (is("app.clipboard.pasteImage")) return this.#run(this.#handlerOf("app.clipboard.pasteImage", this.onPasteImage, data));
		const action = [...this.actionHandlers.keys()].find(is) ?? this.keybindings.appActions().find(is);
		return action !== undefined && this.#run(this.#handlerOf(action, undefined, data));
	}
	#run(handler) {
		handler?.();
		return handler !== undefined;
	}
	handleInput(data) {
		if (this.onExtensionShortcut?.(data)) return;
		if (this.#act(data)) return;
		// Osier has the history of prompts.
		const leavesText = (this.keybindings.matches(data, "tui.editor.cursorUp") && this.isOnFirstRow()) || (this.keybindings.matches(data, "tui.editor.cursorDown") && this.isOnLastRow());
		if (this.leaveKey && leavesText) return this.leaveKey(data);
		super.handleInput(data);
	}
}

export const keyText = (action) => getKeybindings().getKeys(action).join("/") || action;
export const keyHint = (action, description) => theme.fg("dim", keyText(action)) + theme.fg("muted", ` ${description}`);
export const rawKeyHint = (key, description) => theme.fg("dim", key) + theme.fg("muted", ` ${description}`);
export const appKeyHint = (_keybindings, action, description) => keyHint(action, description);
export const editorKey = keyText;

/** The lines of a text as a terminal shows them, at most so many: the last ones, or the first ones with `keep` "start". */
export function truncateToVisualLines(text, maxVisualLines, width, paddingX = 0, keep = "end") {
	const lines = text ? new Text(text, paddingX, 0).render(width) : [];
	const skippedCount = Math.max(0, lines.length - maxVisualLines);
	if (!skippedCount) return { visualLines: lines, skippedCount };
	return { visualLines: keep === "start" ? lines.slice(0, maxVisualLines) : lines.slice(skippedCount), skippedCount };
}

/** A diff in the colors of the theme. */
export function renderDiff(text) {
	const color = (line) => (line.startsWith("+") ? "toolDiffAdded" : line.startsWith("-") ? "toolDiffRemoved" : "toolDiffContext");
	return text.split("\n").map((line) => theme.fg(color(line), line)).join("\n");
}
