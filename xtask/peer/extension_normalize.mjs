// What a run did, without what differs between any two runs or any two programs: ids, times, paths, colors, the programs' own
// prompts, tools and entries. docs/rpc.md lists what differs on purpose.

const BUILT_IN_TOOLS = ["bash", "edit", "find", "grep", "ls", "read", "write"];
/** Those that both programs offer without being asked. */
const COMMON_TOOLS = ["bash", "edit", "read", "write"];
/** Lines of the programs' own system prompts that depend on the project or on the tools. */
const OWN_LINES = /^(# .*|<\/?(tools|rules)>|- Git repository: .*|- (bash|edit|find|grep|ls|read|write): .*)$/;
const OSIER_TOOLS = ["backtrack", "task", "todo"];
const ENTRIES = ["branch_summary", "compaction", "custom", "custom_message", "label", "message", "session_info"];
const ESCAPES = /\u001b(\[[0-9;:?]*[ -/]*[@-~]|\][^\u0007\u001b]*(\u0007|\u001b\\))/g;
const ID = /\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{8})\b/g;
const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b|\b1[6-9]\d{11}\b/g;

/** `baseline` is the result of the same program without the extension, for what the extension adds to requests. */
export function normalize(result, baseline, program) {
	if (result.failed) return { failed: true };
	const text = cleaner(result, program);
	const value = (input) => clean(input, text);
	const usual = { system: cleaner(baseline, program)(system(baseline.requests[0])).split("\n"), tools: baseline.requests[0].tools };
	return {
		// pi omits the importance of a notification if the extension did.
		ui: withoutFrames(result.ui).map(({ type, id, ...shown }) => value(shown.notifyType === "info" ? { ...shown, notifyType: undefined } : shown)),
		errors: result.errors.map(({ event, error }) => value({ event, error })),
		results: result.results.map(({ command, success, data }) => ({ command, success, cancelled: data?.cancelled })),
		commands: result.commands.filter(({ name, source }) => source === "extension" && name !== "reload").map(({ name, description }) => value({ name, description })),
		entries: result.entries.map((item) => entry(item, value)).filter(Boolean),
		requests: result.requests.map((request) => body(request, usual, value)),
		files: value(result.files),
		exited: result.exited,
	};
}

/** Titles with a spinner, each only once: how often it turns depends on the time. */
function withoutFrames(shown) {
	const titles = shown.map((item) => (item.method === "setTitle" ? { ...item, title: item.title.replace(/[⠀-⣿]/g, "⠋") } : item));
	return titles.filter((item, at) => item.method !== "setTitle" || item.title !== titles[at - 1]?.title);
}

/** A function that takes out of a text what differs between two runs. */
function cleaner({ cwd, home }, { agentDir, configDir, extensions }) {
	const ids = new Map();
	return (input) =>
		input
			.replace(ESCAPES, "")
			.replaceAll(extensions, "EXTENSIONS")
			.replaceAll(`${home}/${agentDir}`.replace(/\/$/, ""), "AGENT")
			.replaceAll(home, "AGENT")
			.replaceAll(cwd, "CWD")
			.replaceAll(configDir, ".CONFIG")
			.replace(/\n?<system>Checkpoint \d+<\/system>/g, "")
			.replace(/127\.0\.0\.1:\d+/g, "SERVER")
			.replace(/\b\d+ chars\b/g, "N chars")
			.replace(TIME, "TIME")
			.replace(ID, (id) => ids.get(id) ?? (ids.set(id, `id-${ids.size + 1}`), ids.get(id)))
			.trimEnd();
}

function clean(input, text) {
	if (typeof input === "string") return text(input);
	if (Array.isArray(input)) return isToolList(input) ? COMMON_TOOLS.filter((name) => input.includes(name)) : input.map((item) => clean(item, text));
	if (input === null || typeof input !== "object") return input;
	const isEmpty = (field) => field === undefined || field === null || JSON.stringify(field) === "{}";
	const fields = Object.entries(input).filter(([name, field]) => !isEmpty(field) && !["timestamp", "durationMs"].includes(name));
	return Object.fromEntries(fields.sort().map(([name, field]) => [name, clean(field, text)]));
}

/** Names of tools, of which Osier has more. */
function isToolList(items) {
	return items.length > 0 && items.every((item) => typeof item === "string") && items.every((item) => BUILT_IN_TOOLS.includes(item) || OSIER_TOOLS.includes(item));
}

/** An entry as far as extensions decide about it. */
function entry(item, value) {
	if (!ENTRIES.includes(item.type) || item.customType?.startsWith("osier.")) return undefined;
	const { id, parentId, timestamp, usage, fromHook, tokensBefore, systemMessage, model, provider, ...rest } = item;
	if (item.type !== "message") return value(rest);
	const { role, toolName, content, isError, details, customType } = item.message;
	if (role === "system") return undefined;
	const builtIn = BUILT_IN_TOOLS.includes(toolName);
	return value({ role, toolName, isError, customType, content: builtIn && !isError ? [] : blocks(content), details: builtIn || role !== "toolResult" ? undefined : details });
}

function blocks(content) {
	if (typeof content === "string") return [content];
	return (content ?? []).map(({ type, text, thinking, name, arguments: args }) => text ?? thinking ?? (name ? { name, args } : type));
}

/** A request to the model: the conversation, and what is new in the system prompt and the tools. */
function body(request, usual, value) {
	const tools = (request.tools ?? []).map((tool) => tool.function);
	const isNew = ({ name, description }) => !BUILT_IN_TOOLS.includes(name) && !usual.tools.some(({ function: known }) => known.name === name && known.description === description);
	return value({
		system: isSummary(request) ? [] : value(system(request)).split("\n").filter((line) => line.trim() && !usual.system.includes(line) && !OWN_LINES.test(line)),
		messages: request.messages.filter((item) => !isSystem(item)).map((item) => message(item, request.messages)),
		newTools: tools.filter(isNew).map(({ name, description, parameters }) => ({ name, description, parameters })),
		missingTools: COMMON_TOOLS.filter((name) => !tools.some((tool) => tool.name === name)),
		model: request.model,
	});
}

/** Skills in one form: pi lists them as elements, Osier as items. */
function withSameSkills(text) {
	return text
		.replace(/<skills>[^]*?<available_skills>\n([^]*?)<\/available_skills>\n<\/skills>/, "$1")
		.replace(/ *<skill>\s*<name>(.*)<\/name>\s*<description>(.*)<\/description>\s*<location>(.*)<\/location>\s*<\/skill>/g, "skill $1: $2 ($3)")
		.replace(/# Skills\n\n.*\n\n((?:- .*\n?)+)/, (_, items) => items.replace(/^- /gm, "skill "));
}

/** Each program asks for summaries in its own words. */
const isSummary = ({ messages }) => messages.some(({ content }) => wire(content).includes("</conversation>"));

const isSystem = ({ role }) => ["system", "developer"].includes(role);

function system({ messages }) {
	return withSameSkills(messages.filter(isSystem).map(({ content }) => wire(content)).join("\n"));
}

function message({ role, content, tool_calls: calls, tool_call_id: answers }, all) {
	const named = (call) => call.id === answers && BUILT_IN_TOOLS.includes(call.function.name);
	const isBuiltIn = all.some((other) => other.tool_calls?.some(named));
	const text = isBuiltIn ? "" : wire(content).replace(/(<\/conversation>)[^]*$/, "$1");
	return { role, content: text, calls: calls?.map((call) => ({ name: call.function.name, args: JSON.parse(call.function.arguments || "{}") })) };
}

function wire(content) {
	if (typeof content === "string") return content;
	return (content ?? []).map((block) => block.text ?? block.type).join("\n");
}
