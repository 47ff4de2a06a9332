// Which keys mean which action, in components.

import { matchesKey } from "osier:modules/pi-tui/keys.js";

export const TUI_KEYBINDINGS = {
	"tui.editor.cursorUp": "up", "tui.editor.cursorDown": "down", "tui.editor.cursorLeft": ["left", "ctrl+b"], "tui.editor.cursorRight": ["right", "ctrl+f"],
	"tui.editor.cursorWordLeft": ["alt+left", "ctrl+left", "alt+b"], "tui.editor.cursorWordRight": ["alt+right", "ctrl+right", "alt+f"],
	"tui.editor.cursorLineStart": ["home", "ctrl+a"], "tui.editor.cursorLineEnd": ["end", "ctrl+e"], "tui.editor.pageUp": "pageUp", "tui.editor.pageDown": "pageDown",
	"tui.editor.deleteCharBackward": "backspace", "tui.editor.deleteCharForward": ["delete", "ctrl+d"], "tui.editor.deleteWordBackward": ["ctrl+w", "alt+backspace"],
	"tui.editor.deleteWordForward": ["alt+d", "alt+delete"], "tui.editor.deleteToLineStart": "ctrl+u", "tui.editor.deleteToLineEnd": "ctrl+k",
	"tui.editor.yank": "ctrl+y", "tui.editor.undo": "ctrl+-", "tui.input.newLine": ["shift+enter", "ctrl+j"], "tui.input.submit": "enter", "tui.input.tab": "tab",
	"tui.input.copy": "ctrl+c", "tui.select.up": "up", "tui.select.down": "down", "tui.select.pageUp": "pageUp", "tui.select.pageDown": "pageDown",
	"tui.select.confirm": "enter", "tui.select.cancel": ["escape", "ctrl+c"],
	// These are keys of Osier. What pi has and Osier does not has no key.
	"app.interrupt": "escape", "app.clear": "ctrl+c", "app.exit": "ctrl+d", "app.suspend": "ctrl+z", "app.thinking.cycle": "shift+tab",
	"app.tools.expand": "ctrl+o", "app.editor.external": "ctrl+g", "app.message.followUp": "alt+enter", "app.message.dequeue": "alt+up",
	"app.clipboard.pasteImage": "ctrl+v", "app.screen.redraw": "ctrl+l", "app.history.search": "ctrl+r", "app.tree": "alt+t", "app.undo": "alt+u", "app.redo": "alt+r",
	"app.model.select": [], "app.model.cycleForward": [], "app.model.cycleBackward": [], "app.thinking.toggle": [],
};
/** The short names of earlier versions. */
const OLD = {
	selectUp: "tui.select.up", selectDown: "tui.select.down", selectPageUp: "tui.select.pageUp", selectPageDown: "tui.select.pageDown", selectConfirm: "tui.select.confirm",
	selectCancel: "tui.select.cancel", submit: "tui.input.submit", newLine: "tui.input.newLine", tab: "tui.input.tab", cursorUp: "tui.editor.cursorUp",
	cursorDown: "tui.editor.cursorDown", cursorLeft: "tui.editor.cursorLeft", cursorRight: "tui.editor.cursorRight", interrupt: "app.interrupt", expandTools: "app.tools.expand",
};

export class KeybindingsManager {
	constructor(bindings = TUI_KEYBINDINGS) {
		this.bindings = bindings;
	}
	getKeys(action) {
		const keys = this.bindings[action] ?? this.bindings[OLD[action]];
		return keys === undefined ? [] : [keys].flat();
	}
	matches(data, action) {
		return this.getKeys(action).some((key) => matchesKey(data, key));
	}
	/** The actions that concern Osier and not the text. */
	appActions() {
		return Object.keys(this.bindings).filter((action) => action.startsWith("app."));
	}
	getDefinition(action) {
		return { defaultKeys: this.getKeys(action), description: action };
	}
	getResolvedBindings() {
		return this.bindings;
	}
	getConflicts() {
		return [];
	}
}

let manager = new KeybindingsManager();
export const getKeybindings = () => manager;
export const setKeybindings = (next) => {
	manager = next;
};
export const getEditorKeybindings = getKeybindings;
