// Components with the keyboard: `ctx.ui.custom` in place of the editor, and overlays that float over the screen.

import { AbortController } from "osier:abort.js";
import { requireModule } from "osier:commonjs.js";
import { handle, notice, report, request } from "osier:primitives.js";
import { drawEntry, isTerminal, linesOf, requestRender, setFocused, shown, size } from "osier:screen.js";

let lastNumber = 0;
/** Ids of components, which keys name. */
export const nextComponent = () => (lastNumber += 1);

/** A number, or a part of the whole such as "50%". */
function sizeOf(value, whole) {
	if (typeof value === "number") return value;
	const percent = typeof value === "string" ? value.match(/^(\d+(?:\.\d+)?)%$/) : undefined;
	return percent ? Math.floor((whole * Number(percent[1])) / 100) : undefined;
}

const clamp = (value, low, high) => Math.max(low, Math.min(value, high));

/** Where an overlay begins in one direction: at a place, or by its anchor. */
function start(place, anchor, offset, before, room, length, whole, after) {
	let at;
	if (typeof place === "string") at = before + (sizeOf(place, Math.max(0, room - length)) ?? 0);
	else if (typeof place === "number") at = place;
	else if (anchor < 0) at = before;
	else if (anchor > 0) at = before + room - length;
	else at = before + Math.floor((room - length) / 2);
	return clamp(at + offset, before, Math.max(before, whole - after - length));
}

const sides = (margin) => {
	const all = typeof margin === "number" ? { top: margin, right: margin, bottom: margin, left: margin } : (margin ?? {});
	return Object.fromEntries(["top", "right", "bottom", "left"].map((side) => [side, Math.max(0, all[side] ?? 0)]));
};

/** The width of an overlay and the most lines that it may have. */
export function overlaySize(options, { columns, rows }) {
	const margin = sides(options.margin);
	const room = { columns: Math.max(1, columns - margin.left - margin.right), rows: Math.max(1, rows - margin.top - margin.bottom) };
	const wanted = Math.max(sizeOf(options.width, columns) ?? Math.min(80, room.columns), options.minWidth ?? 0);
	const height = sizeOf(options.maxHeight, rows);
	return { width: clamp(wanted, 1, room.columns), maxHeight: height === undefined ? undefined : clamp(height, 1, room.rows), margin, room };
}

export function overlayPlace(options, height, screen) {
	const { width, margin, room } = overlaySize(options, screen);
	const anchor = options.anchor ?? "center";
	const vertical = anchor.startsWith("top") ? -1 : anchor.startsWith("bottom") ? 1 : 0;
	const horizontal = anchor.endsWith("left") || anchor === "left-center" ? -1 : anchor.endsWith("right") || anchor === "right-center" ? 1 : 0;
	return {
		row: start(options.row, vertical, options.offsetY ?? 0, margin.top, room.rows, height, screen.rows, margin.bottom),
		column: start(options.col, horizontal, options.offsetX ?? 0, margin.left, room.columns, width, screen.columns, margin.right),
		width,
	};
}

/** Overlays in the order of focus, the last one in front. */
let overlays = [];
let order = 0;

class Overlay {
	isHiddenNow = false;
	isRemoved = false;
	controller = new AbortController();
	number = nextComponent();
	constructor(component, options) {
		this.component = component;
		this.options = options;
		this.wantsFocus = !this.settings().nonCapturing;
		this.order = order += 1;
	}
	settings() {
		return (typeof this.options === "function" ? this.options() : this.options) ?? {};
	}
	isVisible() {
		const { visible } = this.settings();
		return !this.isHiddenNow && !this.isRemoved && (typeof visible !== "function" || !!visible(size.columns, size.rows));
	}
	/** The lines at their width, and where they are. */
	draw() {
		const isVisible = this.isVisible();
		const settings = this.settings();
		const { width, maxHeight } = overlaySize(settings, size);
		const all = isVisible ? linesOf(this.component, width) : [];
		const lines = all.slice(0, maxHeight ?? size.rows);
		this.bounds = { ...overlayPlace(settings, lines.length, size), height: lines.length };
		const { row, column } = this.bounds;
		return { component: this.number, lines, place: { row, column, width, order: this.order, hidden: !isVisible, focused: isVisible && focusedOverlay() === this } };
	}
	send(drawn) {
		notice("component.draw", drawn);
	}
	handle() {
		return {
			hide: () => this.close(),
			setHidden: (hidden) => this.change(() => (this.isHiddenNow = !!hidden)),
			isHidden: () => this.isHiddenNow,
			focus: () =>
				this.change(() => {
					this.wantsFocus = true;
					this.order = order += 1;
					overlays = [...overlays.filter((other) => other !== this), this];
				}),
			unfocus: () => this.change(() => (this.wantsFocus = false)),
			isFocused: () => focusedOverlay() === this,
			getBounds: () => (this.isVisible() && this.bounds ? { row: this.bounds.row, col: this.bounds.column, width: this.bounds.width, height: this.bounds.height } : undefined),
		};
	}
	/** Changes something that may move the focus. */
	change(run) {
		const before = focusedOverlay();
		run();
		const now = focusedOverlay();
		if (before !== now) {
			setFocused(before?.focus ?? before?.component, false);
			setFocused(now?.focus ?? now?.component, true);
		}
		requestRender();
	}
	close() {
		if (!this.controller.signal.aborted) this.controller.abort();
	}
	async show() {
		this.change(() => overlays.push(this));
		shown.set(this.number, this);
		try {
			const closed = request("ui.component", { component: this.number, floating: true, focuses: this.wantsFocus && !this.isHiddenNow }, this.controller.signal);
			drawEntry(this);
			await closed;
		} finally {
			shown.delete(this.number);
			this.change(() => {
				this.isRemoved = true;
				overlays = overlays.filter((other) => other !== this);
			});
		}
	}
	handleInput(data) {
		(this.focus ?? this.component).handleInput?.(data);
	}
}

/** The overlay that gets the keys. */
const focusedOverlay = () => overlays.findLast((overlay) => overlay.wantsFocus && overlay.isVisible());

/** A component in place of the editor. */
class Inline {
	controller = new AbortController();
	number = nextComponent();
	constructor(component) {
		this.component = component;
	}
	draw() {
		return { component: this.number, lines: linesOf(this.component, size.columns) };
	}
	send(drawn) {
		notice("component.draw", drawn);
	}
	handle() {
		return {
			hide: () => this.close(), setHidden() {}, isHidden: () => false, focus() {}, unfocus() {}, isFocused: () => !focusedOverlay(),
			getBounds: () => ({ row: 0, col: 0, width: size.columns, height: size.rows }),
		};
	}
	close() {
		if (!this.controller.signal.aborted) this.controller.abort();
	}
	async show() {
		setFocused(this.component, true);
		shown.set(this.number, this);
		try {
			const closed = request("ui.component", { component: this.number }, this.controller.signal);
			drawEntry(this);
			await closed;
		} finally {
			shown.delete(this.number);
		}
	}
	handleInput(data) {
		(this.focus ?? this.component).handleInput?.(data);
	}
}

const inputListeners = new Set();

/** The object that components get as `tui`. `owner` is what shows them. */
export function createTui(owner = () => undefined) {
	const opened = [];
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
			setTitle: (title) => notice("ui.show", { method: "setTitle", title: String(title) }),
		},
		setFocus(component) {
			const entry = focusedOverlay() ?? owner();
			if (!entry) return;
			setFocused(entry.focus ?? entry.component, false);
			entry.focus = component ?? undefined;
			setFocused(entry.focus ?? entry.component, true);
		},
		showOverlay(component, options) {
			const overlay = new Overlay(component, options);
			overlay.show().catch(report);
			opened.push(overlay);
			return overlay.handle();
		},
		hideOverlay: () => overlays.at(-1)?.close(),
		hasOverlay: () => overlays.some((overlay) => overlay.isVisible()),
		addInputListener(listener) {
			inputListeners.add(listener);
			return () => inputListeners.delete(listener);
		},
		removeInputListener: (listener) => inputListeners.delete(listener),
		children: [],
		addChild() {},
		removeChild() {},
		clear() {},
		render: () => [],
		getShowHardwareCursor: () => true,
		setShowHardwareCursor() {},
		start() {},
		stop() {},
	};
}

/** `ctx.ui.custom`. The value is that of `done`; undefined if the user closed it. */
export async function customComponent(create, options = {}) {
	if (!isTerminal()) return undefined;
	const { getKeybindings } = requireModule("osier:modules/pi-tui/keybindings.js");
	let view;
	let isDone = false;
	let result;
	const done = (value) => {
		if (isDone) return;
		[isDone, result] = [true, value];
		view?.close();
	};
	const component = await create(createTui(() => view), getKeybindings(), done);
	if (typeof component?.render !== "function") throw new Error("ctx.ui.custom: the factory returned no component");
	try {
		if (isDone) return result;
		view = options.overlay ? new Overlay(component, options.overlayOptions) : new Inline(component);
		const closed = view.show();
		options.onHandle?.(view.handle());
		await closed;
	} finally {
		component.dispose?.();
	}
	return result;
}

/** Listeners of a `tui` see keys of components first. */
function filtered(data) {
	for (const listener of inputListeners) {
		const answer = listener(data);
		if (answer?.consume) return undefined;
		data = answer?.data ?? data;
	}
	return data;
}

handle("component.input", ({ component: number, data, client }) => {
	const entry = shown.get(number);
	if (!entry?.handleInput) return;
	const key = filtered(data);
	const { isKeyRelease } = requireModule("osier:modules/pi-tui/keys.js");
	if (key === undefined || (isKeyRelease(key) && !(entry.focus ?? entry.component).wantsKeyRelease)) return;
	try {
		entry.handleInput(key, client);
	} catch (error) {
		report(error);
	}
	requestRender();
});
