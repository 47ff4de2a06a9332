// The built-in tools, for extensions that replace or wrap them. Without operations of its own, a tool runs in Osier.

import { runBuiltIn } from "osier:tools.js";
import { Type } from "osier:modules/typebox.js";

const path = Type.String({ description: "Path to the file, relative or absolute" });
const optional = (type, description) => Type.Optional(type({ description }));

const DEFINITIONS = {
	read: ["Read the contents of a file.", { path, offset: optional(Type.Number, "Line to start at, from 1"), limit: optional(Type.Number, "Number of lines") }],
	write: ["Write a file. Creates it and its folders, or replaces its content.", { path, content: Type.String({ description: "Content of the file" }) }],
	edit: ["Replace text in a file. Each oldText must occur exactly once.", { path, edits: Type.Array(Type.Object({ oldText: Type.String(), newText: Type.String() })) }],
	bash: ["Run a shell command in the working directory.", { command: Type.String({ description: "Command to run" }), timeout: optional(Type.Number, "Seconds until it is stopped") }],
	grep: ["Search the contents of files.", { pattern: Type.String(), path: optional(Type.String, "Folder or file"), glob: optional(Type.String, "Only files that match"), ignoreCase: optional(Type.Boolean, "Ignore case"), literal: optional(Type.Boolean, "Not a regular expression"), context: optional(Type.Number, "Lines around each match"), limit: optional(Type.Number, "Most matches") }],
	find: ["Find files by a glob pattern.", { pattern: Type.String(), path: optional(Type.String, "Folder"), limit: optional(Type.Number, "Most results") }],
	ls: ["List a folder.", { path: optional(Type.String, "Folder"), limit: optional(Type.Number, "Most entries") }],
};

const text = (value) => ({ content: [{ type: "text", text: value }], details: undefined });
const absolute = (cwd, file) => (file.startsWith("/") ? file : `${cwd}/${file}`);

/** What the tools do with operations of the extension instead of the files and programs of this machine. */
const WITH_OPERATIONS = {
	async read(operations, cwd, { path: file, offset = 1, limit }) {
		const lines = String(await operations.readFile(absolute(cwd, file))).split("\n");
		return text(lines.slice(offset - 1, limit === undefined ? undefined : offset - 1 + limit).join("\n"));
	},
	async write(operations, cwd, { path: file, content }) {
		const full = absolute(cwd, file);
		await operations.mkdir?.(full.slice(0, full.lastIndexOf("/")) || "/");
		await operations.writeFile(full, content);
		return text(`Successfully wrote ${content.length} bytes to ${file}`);
	},
	async edit(operations, cwd, { path: file, edits }) {
		const full = absolute(cwd, file);
		let content = String(await operations.readFile(full));
		for (const { oldText, newText } of edits) {
			if (content.split(oldText).length !== 2) throw new Error(`The text to replace must occur exactly once in ${file}`);
			content = content.replace(oldText, () => newText);
		}
		await operations.writeFile(full, content);
		return text(`Successfully replaced ${edits.length} block(s) in ${file}.`);
	},
	async bash(operations, cwd, { command, timeout }, signal, onUpdate) {
		let output = "";
		const onData = (data) => {
			output += String(data);
			onUpdate?.(text(output));
		};
		const { exitCode } = await operations.exec(command, cwd, { onData, signal, timeout });
		if (exitCode) throw new Error(`${output}\n\nCommand exited with code ${exitCode}`);
		return text(output || "(no output)");
	},
};

const quoted = (value) => `'${String(value).replaceAll("'", "'\\''")}'`;

/** The lines that give a command the variables and the folder that a hook chose. */
function shellSetup({ env = {}, cwd }, usual) {
	const changed = Object.entries(env).filter(([name, value]) => value !== undefined && value !== process.env[name]);
	const lines = changed.map(([name, value]) => `export ${name}=${quoted(value)}\n`);
	return lines.join("") + (cwd && cwd !== usual ? `cd ${quoted(cwd)}\n` : "");
}

function create(name, cwd, options = {}) {
	const [description, properties] = DEFINITIONS[name];
	return {
		name,
		label: name,
		description,
		parameters: Type.Object(properties),
		async execute(toolCallId, params, signal, onUpdate) {
			const changed = name === "bash" && options.spawnHook ? options.spawnHook({ command: params.command, cwd, env: { ...process.env } }) : undefined;
			const run = options.operations && WITH_OPERATIONS[name];
			if (run) return run(options.operations, changed?.cwd ?? cwd, { ...params, ...(changed && { command: changed.command }) }, signal, onUpdate);
			const args = changed ? { ...params, command: shellSetup(changed, cwd) + changed.command } : { ...params };
			if (options.commandPrefix && name === "bash") args.command = `${options.commandPrefix}\n${args.command}`;
			return runBuiltIn(name, toolCallId, args, signal);
		},
	};
}

export const createReadTool = (cwd, options) => create("read", cwd, options);
export const createWriteTool = (cwd, options) => create("write", cwd, options);
export const createEditTool = (cwd, options) => create("edit", cwd, options);
export const createBashTool = (cwd, options) => create("bash", cwd, options);
export const createGrepTool = (cwd, options) => create("grep", cwd, options);
export const createFindTool = (cwd, options) => create("find", cwd, options);
export const createLsTool = (cwd, options) => create("ls", cwd, options);
export const createReadToolDefinition = createReadTool;
export const createWriteToolDefinition = createWriteTool;
export const createEditToolDefinition = createEditTool;
export const createBashToolDefinition = createBashTool;
export const createGrepToolDefinition = createGrepTool;
export const createFindToolDefinition = createFindTool;
export const createLsToolDefinition = createLsTool;
export const createCodingTools = (cwd) => ["read", "bash", "edit", "write"].map((name) => create(name, cwd));
export const createReadOnlyTools = (cwd) => ["read", "grep", "find", "ls"].map((name) => create(name, cwd));

/** Runs commands on this machine, for extensions that only change some of them. */
export function createLocalBashOperations() {
	return {
		async exec(command, cwd, { onData, signal, timeout, env } = {}) {
			const { spawn } = await import("osier:node/child_process.js");
			const child = spawn("/bin/sh", ["-c", command], { cwd, env, signal, timeout: timeout ? timeout * 1000 : undefined });
			child.stdout.on("data", (data) => onData?.(data));
			child.stderr.on("data", (data) => onData?.(data));
			return new Promise((resolve, reject) => {
				child.on("error", reject);
				child.on("close", (exitCode) => resolve({ exitCode }));
			});
		},
	};
}
