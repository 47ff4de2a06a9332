// One program in RPC mode with an extension: does the steps of a run, and keeps what a client and the model saw.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startModel } from "./model_server.mjs";

const TIMEOUT = 60_000;
/** A program without news for this long has finished a step. */
const QUIET = 500;
/** Models that examples ask for by name. */
const OTHER_MODELS = [["google", "gemini-2.5-flash"], ["openai", "gpt-5.2"]];
const DIALOGS = ["select", "confirm", "input", "editor"];

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Creates the folders of a run and starts the model. Returns what both the RPC and the terminal need. */
export async function prepare(program, dir, run) {
	const model = await startModel();
	const [cwd, home] = [join(dir, "project"), join(dir, "home")];
	const { args, env } = program.configure(home, model.url, OTHER_MODELS);
	const files = { "notes.txt": "First line.\nSecond line.\n", ...run.files };
	for (const [name, text] of Object.entries(files)) write(join(cwd, name), text);
	for (const [name, text] of Object.entries(run.agentFiles ?? {})) write(join(home, program.agentDir, name), text);
	const variables = { ...process.env, ...env, HOME: dir, TZ: "UTC", LANG: "C.UTF-8", GEMINI_API_KEY: "none", OPENAI_API_KEY: "none", GIT_CONFIG_NOSYSTEM: "1", ...run.env };
	for (const command of run.setup ?? []) await execute(command, cwd, variables);
	return { model, cwd, home, args: [...args, ...(run.args ?? [])], env: variables };
}

function write(path, text) {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text);
}

async function execute(command, cwd, env) {
	const child = spawn("bash", ["-c", command], { cwd, env, stdio: "ignore" });
	await new Promise((resolve) => child.on("close", resolve));
}

/** Runs all steps. Returns what happened, in the words of the program. */
export async function runRpc(program, dir, extension, run) {
	const { model, cwd, home, args, env } = await prepare(program, dir, run);
	const client = new Client([...program.command, "--mode", "rpc", ...args, ...(extension ? ["-e", extension] : [])], cwd, env, run.answers);
	try {
		await client.call({ type: "get_state" });
		for (const step of run.steps ?? [{ prompt: "Hello", replies: [{ text: "Hi." }] }]) await client.step(step, model);
		const commands = await client.call({ type: "get_commands" });
		const state = await client.call({ type: "get_state" });
		const entries = await client.call({ type: "get_entries" });
		// A client that has closed the input gets nothing more from Osier.
		const records = [...client.records];
		await client.close();
		return {
			ui: records.filter((record) => record.type === "extension_ui_request"),
			errors: records.filter((record) => record.type === "extension_error"),
			results: client.results,
			commands: commands.data?.commands ?? [],
			entries: stored(state.data?.sessionFile) ?? entries.data?.entries ?? [],
			requests: model.requests.map((body) => JSON.parse(body)),
			files: Object.fromEntries((run.reads ?? []).map((name) => [name, read(join(cwd, name))])),
			exited: client.exited,
			cwd,
			home,
		};
	} catch (error) {
		return { failed: `${error.message}\n${client.stderr}`.trim(), cwd, home };
	} finally {
		client.kill();
		model.close();
	}
}

/** The entries in the file. In its memory, pi shares `details` with the extension, which may change them later. */
function stored(file) {
	const lines = file && read(file)?.trim().split("\n");
	return lines?.slice(1).map((line) => JSON.parse(line));
}

function read(path) {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return null;
	}
}

class Client {
	records = [];
	results = [];
	stderr = "";
	exited = false;
	#pending = new Map();
	#rest = "";
	#changed = Date.now();
	#count = 0;

	constructor(command, cwd, env, answers = []) {
		this.answers = [...answers];
		this.child = spawn(command[0], command.slice(1), { cwd, env });
		this.child.stdout.setEncoding("utf8").on("data", (text) => this.#read(text));
		this.child.stderr.setEncoding("utf8").on("data", (text) => (this.stderr += text));
		this.child.stdin.on("error", () => {});
		this.ended = new Promise((resolve) => this.child.on("close", resolve)).then(() => {
			this.exited = true;
			for (const { reject } of this.#pending.values()) reject(new Error("the program ended"));
		});
	}

	#read(text) {
		const lines = (this.#rest + text).split("\n");
		this.#rest = lines.pop();
		for (const line of lines.filter(Boolean)) this.#receive(JSON.parse(line));
	}

	#receive(record) {
		const pending = this.#pending.get(record.id);
		if (record.type === "response" && pending) {
			this.#pending.delete(record.id);
			return pending.resolve(record);
		}
		this.#changed = Date.now();
		this.records.push(record);
		if (record.type === "extension_ui_request" && DIALOGS.includes(record.method)) this.#answer(record);
	}

	/** Answers a dialog with the next prepared answer: null cancels, "ignore" waits. */
	#answer({ id, method }) {
		const answer = this.answers.length ? this.answers.shift() : null;
		if (answer === "ignore") return;
		const given = answer === null ? { cancelled: true } : method === "confirm" ? { confirmed: answer } : { value: answer };
		this.#send({ type: "extension_ui_response", id, ...given });
	}

	#send(record) {
		if (!this.exited) this.child.stdin.write(`${JSON.stringify(record)}\n`);
	}

	call(command) {
		if (this.exited) return Promise.resolve({ data: undefined });
		const id = `call-${++this.#count}`;
		const response = new Promise((resolve, reject) => {
			this.#pending.set(id, { resolve, reject });
			setTimeout(() => reject(new Error(`no answer to ${command.type}`)), TIMEOUT).unref();
		});
		this.#send({ id, ...command });
		return response;
	}

	async step({ prompt, rpc, replies = [], wait }, model) {
		for (const reply of replies) model.reply(reply);
		const command = prompt === undefined ? rpc : { type: "prompt", message: prompt };
		if (command) {
			const response = await this.call(await this.#complete(command)).catch((error) => {
				if (!this.exited) throw error;
				return {};
			});
			this.results.push({ command: command.type, success: response.success, data: response.data });
		}
		if (wait) await pause(wait);
		await this.#idle();
	}

	/** `"entryId": "first"` means the first user message; `"last"` the last one. */
	async #complete(command) {
		if (!["first", "last"].includes(command.entryId)) return command;
		const { messages } = (await this.call({ type: "get_fork_messages" })).data;
		return { ...command, entryId: messages.at(command.entryId === "first" ? 0 : -1)?.entryId };
	}

	/** Waits until nothing runs and nothing arrives any more. */
	async #idle() {
		const deadline = Date.now() + TIMEOUT;
		while (!this.exited && Date.now() < deadline) {
			const state = await this.call({ type: "get_state" }).catch(() => undefined);
			const busy = state?.data?.isStreaming || state?.data?.isCompacting;
			if (!busy && Date.now() - this.#changed > QUIET) return;
			await pause(100);
		}
	}

	async close() {
		this.child.stdin.end();
		await Promise.race([this.ended, pause(10_000)]);
	}

	kill() {
		if (!this.exited) this.child.kill("SIGKILL");
	}
}
