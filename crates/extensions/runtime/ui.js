// `ctx.ui`: dialogs are requests, everything else is a notice. Without a user, dialogs answer at once with "nothing".

import { call, notice, report, request } from "osier:primitives.js";
import { environment } from "osier:context.js";
import { addAutocompleteProvider, getEditorComponent, getEditorText, onTerminalInput, pasteToEditor, setEditorComponent, setEditorText } from "osier:editor.js";
import { requireModule } from "osier:commonjs.js";
import { createTui, customComponent } from "osier:overlays.js";
import { isTerminal, requestRender, setLines, size } from "osier:screen.js";
import { theme, themeNames } from "osier:theme.js";

export { theme };

const show = (method, fields) => notice("ui.show", { method, ...fields });

/** How running work is shown. Every change sends all of it. */
const working = { hidden: false };
function setWorking(changes) {
	if (!isTerminal()) return;
	Object.assign(working, changes);
	show("setWorking", working);
}

const text = (value) => (value === undefined || value === null ? undefined : String(value));

async function dialog(method, params, options, nothing) {
	if (!environment().hasUI) return nothing;
	const { signal, timeout } = options ?? {};
	if (signal?.aborted) return nothing;
	const answer = await request("ui.dialog", { method, timeout, ...params }, signal);
	return answer === null ? nothing : answer;
}

/** What a footer may show. Asked for at most once per frame or so. */
let known = { at: -Infinity };
function footerFacts() {
	if (Date.now() - known.at > 250) known = { ...call("ui.footerData", {}), at: Date.now() };
	return known;
}
const footerData = {
	getGitBranch: () => footerFacts().gitBranch ?? null,
	getExtensionStatuses: () => new Map(Object.entries(footerFacts().statuses ?? {})),
	getAvailableProviderCount: () => new Set(call("models.list", {}).map(({ provider }) => provider)).size,
	onBranchChange(listener) {
		branchListeners.add(listener);
		if (!watcher) {
			lastBranch = footerData.getGitBranch();
			watcher = setInterval(tellBranch, BRANCH_INTERVAL);
		}
		return () => {
			branchListeners.delete(listener);
			if (!branchListeners.size) watcher = clearInterval(watcher);
		};
	},
};

const BRANCH_INTERVAL = 2000;
const branchListeners = new Set();
let watcher;
let lastBranch;
function tellBranch() {
	const branch = footerData.getGitBranch();
	if (branch === lastBranch) return;
	lastBranch = branch;
	for (const listener of branchListeners) {
		try {
			listener();
		} catch (error) {
			report(error);
		}
	}
}


/** The form of earlier versions: a component, and a function that is called when it has closed. It closes with `close` or Escape. */
function showComponent(component, whenClosed) {
	if (typeof component?.render !== "function") throw new TypeError("ctx.ui.custom needs a component or a function that creates one");
	let close = () => {};
	const closed = customComponent((tui, keybindings, done) => {
		close = done;
		return {
			render: (width) => component.render(width),
			invalidate: () => component.invalidate?.(),
			handleInput(data) {
				const { matchesKey } = requireModule("osier:modules/pi-tui/keys.js");
				if (matchesKey(data, "escape") || matchesKey(data, "ctrl+c")) return done();
				component.handleInput?.(data);
				tui.requestRender();
			},
			dispose: () => component.dispose?.(),
		};
	});
	const ended = closed.then((value) => {
		if (typeof whenClosed === "function") whenClosed();
		return value;
	});
	return Object.assign(ended, { close: (value) => close(value), requestRender });
}

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
		notice("ui.show", { method: "setStatus", statusKey: String(key), statusText: text(status) });
	},
	setWidget: (key, content, options) => {
		const name = String(key);
		const show = (lines) =>
			notice("ui.show", { method: "setWidget", widgetKey: name, widgetLines: lines, widgetPlacement: options?.placement });
		setLines(`widget ${name}`, content, () => content(createTui(), theme), show);
	},
	setTitle: (title) => notice("ui.show", { method: "setTitle", title: String(title) }),
	setEditorText,
	pasteToEditor,
	getEditorText,
	custom: (first, second) => (typeof first === "function" ? customComponent((tui, keybindings, done) => first(tui, theme, keybindings, done), second) : showComponent(first, second)),
	setFooter: (factory) =>
		setLines("footer", factory, () => factory(createTui(), theme, footerData), (lines) => show("setFooter", { lines })),
	setHeader: (factory) => setLines("header", factory, () => factory(createTui(), theme), (lines) => show("setHeader", { lines })),
	setEditorComponent,
	getEditorComponent,
	setWorkingMessage: (message) => setWorking({ message: text(message) }),
	setWorkingIndicator: (indicator) => {
		const frames = indicator?.frames === undefined ? undefined : [...indicator.frames].map(String);
		setWorking({ frames, interval: indicator?.intervalMs > 0 ? Math.round(indicator.intervalMs) : undefined });
	},
	setWorkingVisible: (visible) => setWorking({ hidden: !visible }),
	setHiddenThinkingLabel: (label) => isTerminal() && show("setHiddenThinkingLabel", { label: text(label) }),
	onTerminalInput,
	addAutocompleteProvider,
	getToolsExpanded: () => size.expanded,
	setToolsExpanded: (expanded) => {
		if (!isTerminal()) return;
		size.expanded = !!expanded;
		show("setToolsExpanded", { expanded: size.expanded });
	},
	getAllThemes: () => (isTerminal() ? themeNames().map((name) => ({ name, path: undefined })) : []),
	// Every terminal draws with its own theme, so all have the same functions.
	getTheme: (name) => (isTerminal() && themeNames().includes(name) ? { ...theme, name } : undefined),
	setTheme: (wanted) => {
		const name = typeof wanted === "string" ? wanted : wanted?.name;
		if (!isTerminal()) return { success: false, error: "There is no terminal" };
		if (!themeNames().includes(name)) return { success: false, error: `Theme not found: ${name}` };
		show("setTheme", { name });
		return { success: true };
	},
	get theme() {
		return theme;
	},
};
