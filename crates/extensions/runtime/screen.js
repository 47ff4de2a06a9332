// Components on the screen of the terminal. Osier sends the size and the keys; this file renders and sends lines.

import { handle, notice, report, request } from "osier:primitives.js";
import { environment } from "osier:context.js";
import { requireModule } from "osier:commonjs.js";
import { AbortController } from "osier:abort.js";

const size = { columns: 80, rows: 24 };
const isTerminal = () => environment().mode === "tui";

/** Components that are visible, by a key, with the function that sends their lines. */
const shown = new Map();
let scheduled = false;

function draw({ component, send, last }, entry) {
	try {
		const lines = component.render(size.columns).map(String);
		const text = lines.join("\n");
		if (text === last) return;
		entry.last = text;
		send(lines);
	} catch (error) {
		report(error);
	}
}
const drawAll = () => {
	scheduled = false;
	for (const entry of shown.values()) draw(entry, entry);
};
function requestRender() {
	if (scheduled) return;
	scheduled = true;
	Promise.resolve().then(drawAll);
}

function createTui() {
	const overlays = [];
	return {
		requestRender,
		invalidate: requestRender,
		terminal: {
			get columns() {
				return size.columns;
			},
			get rows() {
				return size.rows;
			},
			kittyProtocolActive: false,
			write() {},
		},
		setFocus(component) {
			for (const entry of shown.values()) if (entry.keys) entry.focus = component;
		},
		showOverlay(component, options) {
			const controller = new AbortController();
			const closed = show(component, controller);
			const handle = {
				hide: () => controller.abort(),
				setHidden: (hidden) => hidden && controller.abort(),
				isHidden: () => controller.signal.aborted,
				focus() {},
				unfocus() {},
				isFocused: () => !controller.signal.aborted,
				getBounds: () => ({ row: 0, col: 0, width: size.columns, height: size.rows }),
			};
			closed.catch(report);
			overlays.push(handle);
			options?.onHandle?.(handle);
			return handle;
		},
		hideOverlay: () => overlays.pop()?.hide(),
		hasOverlay: () => overlays.length > 0,
		addChild() {},
		removeChild() {},
		start() {},
		stop() {},
		addInputListener: () => () => {},
	};
}

let lastNumber = 0;

/** Shows a component with the keys until it is closed. */
async function show(component, controller) {
	lastNumber += 1;
	const number = lastNumber;
	if (component !== null && typeof component === "object" && "focused" in component) component.focused = true;
	const entry = { component, keys: true, send: (lines) => notice("component.draw", { component: number, lines }) };
	shown.set(number, entry);
	try {
		const closed = request("ui.component", { component: number }, controller.signal);
		draw(entry, entry);
		await closed;
	} finally {
		shown.delete(number);
	}
}

/** `ctx.ui.custom`. The value is that of `done`; undefined if the user closed it. */
export async function customComponent(create, options) {
	if (!isTerminal()) return undefined;
	const { getKeybindings } = requireModule("osier:modules/pi-tui/keybindings.js");
	const controller = new AbortController();
	let result;
	const done = (value) => {
		if (controller.signal.aborted) return;
		result = value;
		controller.abort();
	};
	const component = await create(createTui(), getKeybindings(), done);
	if (typeof component?.render !== "function") throw new Error("ctx.ui.custom: the factory returned no component");
	options?.onHandle?.({ hide: () => done(undefined), setHidden() {}, isHidden: () => false, focus() {}, unfocus() {}, isFocused: () => true, getBounds: () => ({ row: 0, col: 0, width: size.columns, height: size.rows }) });
	try {
		if (!controller.signal.aborted) await show(component, controller);
	} finally {
		component.dispose?.();
	}
	return result;
}

/** Lines that stay: a widget, the footer or the header. `content` is a list of lines, a factory, or nothing. */
export function setLines(key, content, create, send) {
	shown.get(key)?.component.dispose?.();
	shown.delete(key);
	if (content === undefined || content === null) return send(undefined);
	if (typeof content !== "function") return send([...content].map(String));
	// As in pi, only a terminal draws components.
	if (!isTerminal()) return;
	const component = create(createTui());
	if (typeof component?.render !== "function") throw new Error(`${key}: the factory returned no component`);
	const entry = { component, send };
	shown.set(key, entry);
	draw(entry, entry);
}

const reported = new Set();
/** Says once that Osier cannot do this: to the user of a terminal, else in the log. */
export function unsupported(name) {
	if (reported.has(name)) return;
	reported.add(name);
	const message = `${name} has no effect in Osier`;
	if (isTerminal()) notice("ui.show", { method: "notify", message, notifyType: "warning" });
	else if (name.startsWith("pi.")) notice("log", { level: "warning", text: message });
}

handle("component.input", ({ component: number, data }) => {
	const entry = shown.get(number);
	if (!entry) return;
	const { isKeyRelease } = requireModule("osier:modules/pi-tui/keys.js");
	const target = entry.focus ?? entry.component;
	if (isKeyRelease(data) && !target.wantsKeyRelease) return;
	target.handleInput?.(data);
	requestRender();
});
handle("ui.size", ({ columns, rows }) => {
	size.columns = columns;
	size.rows = rows;
	for (const entry of shown.values()) entry.component.invalidate?.();
	requestRender();
});
