// Drives a program in RPC mode with pi's own RpcClient, over a fixed conversation with a prepared model. Reads
// `{cli, cwd, home, program}` from standard input and prints `[{step, answer | failed, events}]`, without ids and times.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { configureOsier, configurePi } from "./configure.mjs";
import { CONVERSATION, EXTENSION } from "./rpc_conversation.mjs";
import { startModel } from "./model_server.mjs";
import { normalize } from "./rpc_normalize.mjs";

const module = process.argv[process.argv.indexOf("--module") + 1];
const { RpcClient } = await import(pathToFileURL(module).href);
const { cli, cwd, home, program } = JSON.parse(readFileSync(0, "utf8"));
const TIMEOUT = 60_000;

const model = await startModel();
mkdirSync(cwd, { recursive: true });
writeFileSync(join(cwd, "notes.txt"), "First line.\nSecond line.\n");
const extension = join(cwd, "ask.js");
writeFileSync(extension, EXTENSION);
const { args, env } = (program === "pi" ? configurePi : configureOsier)(home, model.url);
const client = new RpcClient({ cliPath: cli, cwd, provider: undefined, args: [...args, "-e", extension], env });

const seen = [];
let wake = () => {};
const results = [];
client.onEvent((event) => {
	seen.push(event);
	wake();
});
await client.start();

/** Waits until an event since the start of the step passes the test. */
async function until(test, from = 0) {
	const deadline = Date.now() + TIMEOUT;
	for (;;) {
		const found = seen.slice(from).find(test);
		if (found) return found;
		if (Date.now() > deadline) throw new Error(`no such event among ${JSON.stringify(seen.map((event) => event.type))}`);
		await new Promise((resolve) => {
			const timer = setTimeout(resolve, 1000);
			wake = () => {
				clearTimeout(timer);
				resolve();
			};
		});
	}
}

const tools = {
	client,
	model,
	cwd,
	until,
	/** The events of this step so far. */
	events: () => seen,
	/** Runs a prompt until the agent needs the next one. */
	async turn(start) {
		const from = seen.length;
		const answer = await start();
		await until((event) => event.type === "agent_settled", from);
		return answer;
	},
	/** A line as it is, and what the program answers. */
	async line(text) {
		const from = seen.length;
		client.process.stdin.write(`${text}\n`);
		return await until((event) => event.type === "response", from);
	},
	raw: (command) => client.send(command),
};

for (const [step, run] of CONVERSATION) {
	seen.length = 0;
	const result = { step };
	try {
		result.answer = (await run(tools)) ?? null;
	} catch (error) {
		if (process.env.RPC_VERBOSE) console.error(step, error);
		result.failed = true;
	}
	// Everything that the step caused has arrived when this is answered.
	await client.getState();
	result.unusedReplies = model.unused();
	result.events = seen.slice();
	results.push(result);
}
await client.stop();
model.close();
process.stdout.write(JSON.stringify(normalize(results, { cwd, home })));
