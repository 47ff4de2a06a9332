// Components and themes of pi's own interface.

import { Container, Spacer, Text } from "osier:modules/pi-tui/boxes.js";
import { getKeybindings } from "osier:modules/pi-tui/keybindings.js";
import { CancellableLoader, Loader } from "osier:modules/pi-tui/loader.js";
import { Editor } from "osier:modules/pi-tui/input.js";
import { theme } from "osier:ui.js";

const fg = (color) => (text) => theme.fg(color, text);

export const getMarkdownTheme = () => ({
	heading: fg("mdHeading"), link: fg("mdLink"), linkUrl: fg("mdLinkUrl"), code: fg("mdCode"), codeBlock: fg("mdCodeBlock"), codeBlockBorder: fg("mdCodeBlockBorder"),
	quote: fg("mdQuote"), quoteBorder: fg("mdQuoteBorder"), hr: fg("mdHr"), listBullet: fg("mdListBullet"), bold: theme.bold, italic: theme.italic, underline: theme.underline,
	strikethrough: theme.strikethrough,
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

export class CustomEditor extends Editor {
	actionHandlers = new Map();
	onEscape;
	onCtrlD;
	onPasteImage;
	onExtensionShortcut;
	constructor(tui, editorTheme, keybindings, options) {
		super(tui, editorTheme, options);
		this.keybindings = keybindings ?? getKeybindings();
		this.embedWorkingStatus = !!options?.embedWorkingStatus;
	}
	setWorkingStatusIndicator() {}
	onAction(action, handler) {
		this.actionHandlers.set(action, handler);
	}
	handleInput(data) {
		if (this.onExtensionShortcut?.(data)) return;
		if (this.keybindings.matches(data, "app.interrupt")) return (this.onEscape ?? this.actionHandlers.get("app.interrupt"))?.();
		if (this.keybindings.matches(data, "app.exit") && !this.getText()) return (this.onCtrlD ?? this.actionHandlers.get("app.exit"))?.();
		for (const [action, handler] of this.actionHandlers) {
			if (action !== "app.interrupt" && action !== "app.exit" && this.keybindings.matches(data, action)) return handler();
		}
		super.handleInput(data);
	}
}

export const keyText = (action) => getKeybindings().getKeys(action).join("/") || action;
export const keyHint = (action, description) => theme.fg("dim", keyText(action)) + theme.fg("muted", ` ${description}`);
export const rawKeyHint = (key, description) => theme.fg("dim", key) + theme.fg("muted", ` ${description}`);
export const appKeyHint = (_keybindings, action, description) => keyHint(action, description);
export const editorKey = keyText;
