// Renderers of messages, entries and tools. A client asks for the lines of what it shows; calls that change are drawn again.

import { environment } from "osier:context.js";
import { requireModule } from "osier:commonjs.js";
import { handle, notice, report } from "osier:primitives.js";
import { linesOf, requestRender, shown } from "osier:screen.js";
import { entryById } from "osier:session.js";
import { theme } from "osier:theme.js";

const renderers = { message: new Map(), entry: new Map() };

export function registerRenderer(target, name, renderer) {
	if (typeof renderer !== "function") throw new Error(`The renderer of "${name}" is not a function`);
	const type = String(name);
	const isNew = !renderers[target].has(type);
	renderers[target].set(type, renderer);
	if (isNew) notice("registerRenderer", { target, name: type });
}

/** The tools, by name. `tools.js` sets it. */
let findTool = () => undefined;
export function setToolFinder(find) {
	findTool = find;
}

/** Functions that choose how calls are drawn, also those of built-in tools. The first one decides, and may ask the next ones. */
const resolvers = [];
const BUILT_IN = ["bash", "edit", "find", "grep", "ls", "read", "write"];
const announced = new Set();
export function registerToolRenderer(resolver) {
	if (typeof resolver !== "function") throw new TypeError("pi.registerToolRenderer needs a function");
	resolvers.push(resolver);
	requireModule("osier:tools.js").onToolRegistered(announceTool);
	for (const name of BUILT_IN) announceTool(name);
}
/** Tells Osier that this extension draws the calls of a tool. */
function announceTool(name) {
	if (!resolvers.length || announced.has(name)) return;
	const drawn = renderersOf(name);
	if (!drawn?.renderCall && !drawn?.renderResult) return;
	announced.add(name);
	notice("registerRenderer", { target: "tool", name, ownShell: drawn.renderShell === "self" });
}
function renderersOf(name) {
	const next = (at) => (at < resolvers.length ? resolvers[at](name, () => next(at + 1)) : findTool(name));
	return next(0);
}

/** What is known about calls: their state, components, and the last lines that a client asked for. */
const calls = new Map();
/** More calls than a screen shows. */
const MAX_CALLS = 500;

function callOf(id) {
	const known = calls.get(id);
	if (known) return known;
	const call = { state: {}, isStarted: false };
	calls.set(id, call);
	if (calls.size > MAX_CALLS) forget(calls.keys().next().value);
	return call;
}
function forget(id) {
	calls.delete(id);
	shown.delete(`call ${id}`);
}

/** A tool runs. */
export function callStarted(id) {
	Object.assign(callOf(id), { isStarted: true, partial: undefined });
}
/** A tool reported a part of its result. */
export function callUpdated(id, partial) {
	callOf(id).partial = partial;
	redraw(id);
}
/** Draws a call again, if a client shows it. */
function redraw(id) {
	const call = calls.get(id);
	if (!call?.request) return;
	const { columns, expanded } = call.request;
	shown.set(`call ${id}`, {
		draw: () => renderCall(call.request),
		send: (lines) => {
			shown.delete(`call ${id}`);
			notice("rendered", { id, columns, expanded, lines });
		},
	});
	requestRender();
}

const hints = () => {
	const { keyHint, keyText } = requireModule("osier:modules/pi-coding-agent/components.js");
	return { keyHint, keyText, outputPad: 1 };
};

const reported = new Set();
/** The lines of a component that `create` makes; undefined if it fails, so that Osier draws its own. */
function draw(name, columns, create) {
	try {
		const component = create();
		return component === undefined || component === null ? undefined : linesOf(component, columns);
	} catch (error) {
		if (!reported.has(name)) report(error);
		reported.add(name);
		return undefined;
	}
}

function renderCall(request) {
	const { subject, columns, expanded } = request;
	const tool = renderersOf(subject.name);
	const call = callOf(subject.call);
	call.request = request;
	const stored = subject.result ? entryById(subject.result)?.message : undefined;
	const result = stored ?? call.partial;
	const isPartial = !stored;
	// As in pi, a failed call has details without fields.
	const details = result?.details ?? (stored?.isError ? {} : undefined);
	const context = (slot) => ({
		args: subject.arguments ?? {}, toolCallId: subject.call, state: call.state, lastComponent: call[slot], invalidate: () => redraw(subject.call), cwd: environment().cwd,
		executionStarted: call.isStarted || !!stored, argsComplete: true, isPartial, expanded, showImages: false, isError: !!stored?.isError, durationMs: stored?.durationMs, ...hints(),
	});
	const slot = (name, create) => draw(`${subject.name} ${name}`, columns, () => (call[name] = create(context(name))));
	return {
		call: tool?.renderCall && slot("call", (ctx) => tool.renderCall(subject.arguments ?? {}, theme, ctx)),
		body: tool?.renderResult && result && slot("result", (ctx) => tool.renderResult({ content: result.content ?? [], details }, { expanded, isPartial }, theme, ctx)),
	};
}

/** A message of an extension as renderers know it. */
function messageOf(entry) {
	if (entry?.message) return entry.message;
	const { customType, content, display, details, timestamp } = entry ?? {};
	return { role: "custom", customType, content, display, details, timestamp: Date.parse(timestamp) || 0 };
}

handle("render", (request) => {
	const { subject, columns, expanded } = request;
	if (subject.target === "tool") return renderCall(request);
	const renderer = renderers[subject.target].get(subject.customType);
	const entry = entryById(subject.entry);
	if (!renderer || !entry) return {};
	const shownEntry = subject.target === "message" ? messageOf(entry) : entry;
	return { body: draw(`${subject.target} ${subject.customType}`, columns, () => renderer(shownEntry, { expanded, ...hints() }, theme)) };
});
