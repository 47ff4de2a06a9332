// `ctx.ui`: dialogs are requests, everything else is a notice. Without a user, dialogs answer at once with "nothing".

import { notice, request } from "osier:primitives.js";
import { environment } from "osier:context.js";
import { customComponent, setLines, unsupported } from "osier:screen.js";

const ESC = "\u001b[";

function ansi(code, reset) {
	return (text) => `${ESC}${code}m${text}${ESC}${reset}m`;
}

/** Osier's colors by the names of pi's themes. */
const COLORS = {
	accent: 36, border: 34, borderAccent: 36, borderMuted: 90, success: 32, error: 31, warning: 33, muted: 90, dim: 90,
	text: 39, thinkingText: 90, userMessageText: 39, customMessageText: 39, customMessageLabel: 35, toolTitle: 39,
	toolOutput: 90, mdHeading: 33, mdLink: 34, mdCode: 36, syntaxComment: 90, syntaxKeyword: 35, syntaxString: 32,
	toolDiffAdded: 32, toolDiffRemoved: 31, toolDiffContext: 90, bashMode: 32,
};
const BACKGROUNDS = { selectedBg: 100, userMessageBg: 49, customMessageBg: 49, toolPendingBg: 49, toolSuccessBg: 49, toolErrorBg: 49 };

export const theme = {
	name: "osier",
	appearance: "dark",
	fg: (color, text) => ansi(COLORS[color] ?? 39, 39)(text),
	bg: (color, text) => ansi(BACKGROUNDS[color] ?? 49, 49)(text),
	bold: ansi(1, 22),
	italic: ansi(3, 23),
	underline: ansi(4, 24),
	inverse: ansi(7, 27),
	strikethrough: ansi(9, 29),
	style: (text, { fg, bg, bold, italic, underline } = {}) => {
		let styled = text;
		if (bold) styled = theme.bold(styled);
		if (italic) styled = theme.italic(styled);
		if (underline) styled = theme.underline(styled);
		if (fg) styled = theme.fg(fg, styled);
		return bg ? theme.bg(bg, styled) : styled;
	},
	getFgAnsi: (color) => `${ESC}${COLORS[color] ?? 39}m`,
	getBgAnsi: (color) => `${ESC}${BACKGROUNDS[color] ?? 49}m`,
	getColorMode: () => "256color",
	colors: {},
};

const text = (value) => (value === undefined || value === null ? undefined : String(value));

async function dialog(method, params, options, nothing) {
	if (!environment().hasUI) return nothing;
	const { signal, timeout } = options ?? {};
	if (signal?.aborted) return nothing;
	const answer = await request("ui.dialog", { method, timeout, ...params }, signal);
	return answer === null ? nothing : answer;
}

const statuses = new Map();
/** What a footer shows besides its own text. The statuses are those of this extension. */
const footerData = {
	getGitBranch: () => environment().gitBranch ?? null,
	getExtensionStatuses: () => statuses,
	getAvailableProviderCount: () => 1,
	onBranchChange: () => () => {},
};

export const ui = {
	select: (title, options, settings) =>
		dialog("select", { title: String(title), options: [...options].map(String) }, settings, undefined),
	confirm: (title, message, settings) =>
		dialog("confirm", { title: String(title), message: text(message) ?? "" }, settings, false),
	input: (title, placeholder, settings) =>
		dialog("input", { title: String(title), placeholder: text(placeholder) }, settings, undefined),
	editor: (title, prefill, settings) =>
		dialog("editor", { title: String(title), prefill: text(prefill) }, settings, undefined),
	notify: (message, level = "info") => notice("ui.show", { method: "notify", message: String(message), notifyType: level }),
	setStatus: (key, status) => {
		if (status === undefined || status === null) statuses.delete(String(key));
		else statuses.set(String(key), String(status));
		notice("ui.show", { method: "setStatus", statusKey: String(key), statusText: text(status) });
	},
	setWidget: (key, content, options) => {
		const name = String(key);
		const show = (lines) =>
			notice("ui.show", { method: "setWidget", widgetKey: name, widgetLines: lines, widgetPlacement: options?.placement });
		setLines(`widget ${name}`, content, (tui) => content(tui, theme), show);
	},
	setTitle: (title) => notice("ui.show", { method: "setTitle", title: String(title) }),
	setEditorText: (value) => notice("ui.show", { method: "set_editor_text", text: String(value) }),
	pasteToEditor: (value) => notice("ui.show", { method: "set_editor_text", text: String(value) }),
	getEditorText: () => "",
	custom: (factory, options) => customComponent((tui, keybindings, done) => factory(tui, theme, keybindings, done), options),
	setFooter: (factory) =>
		setLines("footer", factory, (tui) => factory(tui, theme, footerData), (lines) => notice("ui.show", { method: "setFooter", lines })),
	setHeader: (factory) =>
		setLines("header", factory, (tui) => factory(tui, theme), (lines) => notice("ui.show", { method: "setHeader", lines })),
	setEditorComponent: (factory) => factory && unsupported("ctx.ui.setEditorComponent"),
	getEditorComponent: () => undefined,
	setWorkingMessage: (message) => message && unsupported("ctx.ui.setWorkingMessage"),
	setWorkingIndicator: (indicator) => indicator && unsupported("ctx.ui.setWorkingIndicator"),
	setWorkingVisible: () => unsupported("ctx.ui.setWorkingVisible"),
	setHiddenThinkingLabel: (label) => label && unsupported("ctx.ui.setHiddenThinkingLabel"),
	onTerminalInput: () => {
		unsupported("ctx.ui.onTerminalInput");
		return () => {};
	},
	addAutocompleteProvider: () => unsupported("ctx.ui.addAutocompleteProvider"),
	getToolsExpanded: () => false,
	setToolsExpanded: () => unsupported("ctx.ui.setToolsExpanded"),
	getAllThemes: () => [],
	getTheme: () => undefined,
	setTheme: () => ({ success: false, error: "Themes cannot be changed here" }),
	get theme() {
		return theme;
	},
};
