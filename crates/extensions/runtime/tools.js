// Tools that extensions register. Osier validates the arguments; `execute` streams updates as notices.

import { requireModule } from "osier:commonjs.js";
import { createContext } from "osier:context.js";
import { callerPlace, handle, notice, request } from "osier:primitives.js";

const tools = new Map();
const renders = (tool) => typeof tool.renderCall === "function" || typeof tool.renderResult === "function";

/** `renderers.js` sets it. */
let toolRegistered = () => {};
export function onToolRegistered(run) {
	toolRegistered = run;
}

export function registerTool(definition) {
	const { name, execute, parameters } = definition ?? {};
	if (typeof name !== "string" || !name) throw new Error("A tool needs a name");
	if (typeof execute !== "function") throw new Error(`The tool "${name}" has no execute function`);
	if (parameters !== undefined && (typeof parameters !== "object" || parameters === null)) {
		throw new Error(`The parameters of the tool "${name}" are not a JSON schema`);
	}
	tools.set(name, definition);
	if (renders(definition)) requireModule("osier:renderers.js").setToolFinder((known) => tools.get(known));
	toolRegistered(name);
	notice("registerTool", {
		name,
		label: definition.label ?? name,
		description: definition.description ?? "",
		parameters: parameters ?? { type: "object", properties: {} },
		promptSnippet: definition.promptSnippet,
		promptGuidelines: definition.promptGuidelines,
		sequential: definition.executionMode === "sequential",
		exposure: definition.exposure,
		namespace: definition.namespace,
		annotations: definition.annotations,
		startsInactive: definition.defaultActive === false,
		renders: renders(definition),
		ownShell: definition.renderShell === "self",
		place: callerPlace(),
	});
}

/** The calls that run now: their tokens by their ids. */
const running = new Map();

/** Runs a built-in tool inside a call of an extension's tool. */
export async function runBuiltIn(name, toolCallId, params, signal) {
	const token = running.get(toolCallId);
	if (token === undefined) throw new Error(`The built-in tool ${name} can only run inside a call of a tool`);
	const { content, details, isError } = await request("tools.run", { token, name, params }, signal);
	if (isError) throw new Error(content.map((block) => block.text ?? "").join("\n"));
	return { content, details };
}

export const validateToolArguments = (tool, call) => validate(tool, call.arguments);

/** The arguments as the schema wants them: "5" becomes 5. What does not fit is an error that the model gets. */
function validate(tool, args) {
	if (!tool.parameters) return args;
	const { convert, problems } = requireModule("osier:modules/typebox-value.js");
	const converted = convert(tool.parameters, structuredClone(args));
	const wrong = [...problems(tool.parameters, converted)].map(({ path, message }) => {
		const name = path.slice(1).replaceAll("/", ".") || "root";
		return `  - ${name}: ${message === "Expected required property" ? "missing" : message}`;
	});
	if (!wrong.length) return converted;
	throw new Error(
		`Validation failed for tool "${tool.name}":\n${wrong.join("\n")}\n\nReceived arguments:\n${JSON.stringify(args, null, 2)}`,
	);
}

handle("tool", async ({ name, callId, params, token }, controller) => {
	const tool = tools.get(name);
	if (!tool) throw new Error(`there is no tool ${name}`);
	const drawn = renders(tool) ? requireModule("osier:renderers.js") : undefined;
	const onUpdate = (partial) => {
		notice("tool.update", { token, partial });
		drawn?.callUpdated(callId, partial);
	};
	drawn?.callStarted(callId);
	const prepared = tool.prepareArguments ? tool.prepareArguments(params) : params;
	const ctx = createContext({ signal: controller.signal });
	running.set(callId, token);
	try {
		const result = await tool.execute(callId, validate(tool, prepared), controller.signal, onUpdate, ctx);
		return result ?? { content: [] };
	} finally {
		running.delete(callId);
	}
});
