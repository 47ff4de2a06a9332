// Components on the screen of a terminal. Osier sends the size and the keys; this file renders and sends lines.

import { environment } from "osier:context.js";
import { handle, notice, report } from "osier:primitives.js";
import { setLightBackground } from "osier:theme.js";

/** The screen of the client that was resized last. */
export const size = { columns: 80, rows: 24, expanded: false };
export const isTerminal = () => environment().mode === "tui";

/** The time between two drawings, in milliseconds. */
const INTERVAL = 16;

/** Everything that is drawn, by a key. An entry has the function `draw`. */
export const shown = new Map();
let scheduled = false;
let lastDrawn = 0;

function drawAll() {
	scheduled = false;
	lastDrawn = Date.now();
	for (const entry of [...shown.values()]) drawEntry(entry);
}
/** Draws at the end of the current event, and at most once per interval. */
export function requestRender() {
	if (scheduled) return;
	scheduled = true;
	const wait = lastDrawn + INTERVAL - Date.now();
	if (wait > 0 && wait <= INTERVAL) setTimeout(drawAll, wait);
	else Promise.resolve().then(drawAll);
}

/** The lines of a component. What is no list of lines is an error. */
export function linesOf(component, width) {
	const lines = component.render(width);
	if (!Array.isArray(lines)) throw new Error("render() returned no list of lines");
	return lines.map(String);
}

/** Draws now. Only changes are sent. */
export function drawEntry(entry) {
	try {
		const next = entry.draw();
		const key = JSON.stringify(next);
		if (key === entry.last) return;
		entry.last = key;
		entry.send(next);
		entry.error = undefined;
	} catch (error) {
		// The same error in every frame is reported once.
		if (String(error) === entry.error) return;
		entry.error = String(error);
		report(error);
	}
}

export function setFocused(component, focused) {
	if (component !== null && typeof component === "object" && "focused" in component) component.focused = focused;
}

/** Lines that stay: a widget, the footer or the header. `content` is a list of lines, a factory, or nothing. */
export function setLines(key, content, create, send) {
	shown.get(key)?.component.dispose?.();
	shown.delete(key);
	if (content === undefined || content === null) return send(undefined);
	if (typeof content !== "function") return send([...content].map(String));
	// As in pi, only a terminal draws components.
	if (!isTerminal()) return;
	const component = create();
	if (typeof component?.render !== "function") throw new Error(`${key}: the factory returned no component`);
	const entry = { component, draw: () => linesOf(component, size.columns), send };
	shown.set(key, entry);
	drawEntry(entry);
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

handle("ui.screen", ({ columns, rows, expanded, light }) => {
	Object.assign(size, { columns, rows, expanded });
	setLightBackground(light);
	for (const entry of shown.values()) {
		entry.component?.invalidate?.();
		// Another terminal may need the same lines.
		entry.last = undefined;
	}
	requestRender();
});
