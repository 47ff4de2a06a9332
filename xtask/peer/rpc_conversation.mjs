// The conversation that both programs have. Each step is a name and a function; the events of a step are those until its end.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A small red picture. */
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mM4oaGBFTEMLQkAgl1GARdiiXUAAAAASUVORK5CYII=";

/** The file of an extension that asks its user in every way that programs can answer. */
export const EXTENSION = `export default function (pi) {
	pi.registerCommand("ask", {
		description: "Asks in every way",
		handler: async (_args, ctx) => {
			const answers = [
				await ctx.ui.select("Which?", ["one", "two"]),
				await ctx.ui.confirm("Sure?", "It cannot be undone."),
				await ctx.ui.input("Name?", "a name"),
				await ctx.ui.editor("Text?", "a draft"),
			];
			ctx.ui.notify("answers: " + JSON.stringify(answers), "info");
		},
	});
}
`;

/** A session file that is one long chain of messages. */
function writeChain(file, cwd, length) {
	const timestamp = "2026-01-01T00:00:00.000Z";
	const header = { type: "session", version: 3, id: "0c4e3a51-6f0d-4f9c-8f55-0a8f6f0c7a11", timestamp, cwd };
	const id = (number) => number.toString(16).padStart(8, "0");
	const entries = Array.from({ length }, (_, number) => {
		const message = { role: "user", content: `message ${number}`, timestamp: 1 };
		return { type: "message", id: id(number), parentId: number ? id(number - 1) : null, timestamp, message };
	});
	writeFileSync(file, [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(""));
}

const isMessage = (entry) => entry.type === "message";

/** The messages of a tree without branches. Nested values of any depth cannot be compared. */
function messagesOf({ tree }) {
	const messages = [];
	for (let [node] = tree; node; [node] = node.children) if (isMessage(node.entry)) messages.push(node.entry.message.content);
	return messages;
}

const isUpdate = (event) => event.type === "message_update";

/** A turn that stops in the middle of its reply until `release` is called. */
async function heldTurn({ client, model, until }, step, prompt = "Begin") {
	const held = model.reply({ ...step, hold: true });
	const answer = await client.prompt(prompt);
	await until((event) => isUpdate(event) && event.assistantMessageEvent.type === "text_delta");
	return { answer, release: held.release };
}

async function settled({ until }) {
	await until((event) => event.type === "agent_settled");
}

/** Lets the extension ask, and answers its dialogs. */
async function ask({ client, until, events }, answers) {
	const from = events().length;
	const asked = client.prompt("/ask");
	const isDialog = (event) => event.type === "extension_ui_request" && event.method !== "notify";
	for (const [index, answer] of answers.entries()) {
		const dialogs = () => events().slice(from).filter(isDialog);
		await until(() => dialogs().length > index);
		client.process.stdin.write(`${JSON.stringify({ type: "extension_ui_response", id: dialogs()[index].id, ...answer })}\n`);
	}
	await until((event) => event.method === "notify" && event.message?.startsWith("answers"), from);
	return asked;
}

export const CONVERSATION = [
	["state at the start", ({ client }) => client.getState()],
	["available models", ({ client }) => client.getAvailableModels()],
	["levels of a model that does not think", ({ client }) => client.getAvailableThinkingLevels()],
	["a prompt", ({ client, model, turn }) => {
		model.reply({ text: "Hello, nice to see you." });
		return turn(() => client.prompt("Hi"));
	}],
	["messages", ({ client }) => client.getMessages()],
	["entries", ({ client }) => client.getEntries()],
	["tree", ({ client }) => client.getTree()],
	["last text", ({ client }) => client.getLastAssistantText()],
	["statistics", ({ client }) => client.getSessionStats()],
	["messages to fork", ({ client }) => client.getForkMessages()],
	["entries after one", async ({ client }) => {
		const { entries } = await client.getEntries();
		return client.getEntries(entries.at(-2).id);
	}],
	["entries after one that does not exist", ({ client }) => client.getEntries("nothing")],
	["a tool call after thinking", ({ client, model, turn }) => {
		model.reply({ think: "I should read it.", text: "Reading.", calls: [{ name: "read", args: { path: "notes.txt" } }] });
		model.reply({ text: "It has two lines." });
		return turn(() => client.prompt("Read notes.txt"));
	}],
	["two calls at once", ({ client, model, turn }) => {
		const read = { name: "read", args: { path: "notes.txt" } };
		model.reply({ calls: [read, read] });
		model.reply({ text: "Both are the same." });
		return turn(() => client.prompt("Read it twice"));
	}],
	["a call that fails", ({ client, model, turn }) => {
		model.reply({ calls: [{ name: "read", args: { path: "missing.txt" } }] });
		model.reply({ text: "It does not exist." });
		return turn(() => client.prompt("Read missing.txt"));
	}],
	["a call of a tool that does not exist", ({ client, model, turn }) => {
		model.reply({ calls: [{ name: "fly", args: {} }] });
		model.reply({ text: "I cannot fly." });
		return turn(() => client.prompt("Fly"));
	}],
	["a prompt during a turn", async (tools) => {
		const turn = await heldTurn(tools, { text: "Thinking about it." });
		const refused = await tools.client.prompt("Another").then(() => "accepted", () => "refused");
		turn.release();
		await settled(tools);
		return [turn.answer, refused];
	}],
	["state during a turn", async (tools) => {
		const turn = await heldTurn(tools, { text: "Thinking again." });
		const state = await tools.client.getState();
		turn.release();
		await settled(tools);
		return state;
	}],
	["steering in a reply without calls", async (tools) => {
		const turn = await heldTurn(tools, { text: "Working on it." });
		const queued = await tools.client.steer("Be quick");
		tools.model.reply({ text: "Quick." });
		turn.release();
		await settled(tools);
		return queued;
	}],
	["steering in a reply with calls", async (tools) => {
		const turn = await heldTurn(tools, { text: "Reading it.", calls: [{ name: "read", args: { path: "notes.txt" } }] });
		const queued = await tools.client.steer("Read no more");
		tools.model.reply({ text: "I stop." });
		turn.release();
		await settled(tools);
		return queued;
	}],
	["a follow-up", async (tools) => {
		const turn = await heldTurn(tools, { text: "Reading it.", calls: [{ name: "read", args: { path: "notes.txt" } }] });
		const queued = await tools.client.followUp("And then?");
		tools.model.reply({ text: "Done with it." });
		tools.model.reply({ text: "Then nothing." });
		turn.release();
		await settled(tools);
		return queued;
	}],
	["steering and a follow-up", async (tools) => {
		const turn = await heldTurn(tools, { text: "Working." });
		await tools.client.followUp("later");
		await tools.client.steer("now");
		tools.model.reply({ text: "Now." });
		tools.model.reply({ text: "Later." });
		turn.release();
		await settled(tools);
	}],
	["a prompt that is queued by its behavior", async (tools) => {
		const turn = await heldTurn(tools, { text: "Working." });
		const queued = await tools.client.prompt("queued", undefined, "followUp");
		tools.model.reply({ text: "From the queue." });
		turn.release();
		await settled(tools);
		return queued;
	}],
	["a queue that is cleared", async (tools) => {
		const turn = await heldTurn(tools, { text: "Working." });
		await tools.client.steer("one");
		await tools.client.followUp("two");
		const pending = (await tools.client.getState()).pendingMessageCount;
		const cleared = await tools.client.clearQueue();
		turn.release();
		await settled(tools);
		return [pending, cleared];
	}],
	["an empty queue that is cleared", ({ client }) => client.clearQueue()],
	["a turn that is aborted", async (tools) => {
		const turn = await heldTurn(tools, { text: "This will never end." });
		await tools.client.abort();
		turn.release();
	}],
	["last text after an abort", ({ client }) => client.getLastAssistantText()],
	["an abort while nothing runs", ({ client }) => client.abort()],
	["a queue that survives an abort", async (tools) => {
		const turn = await heldTurn(tools, { text: "Working for long." });
		await tools.client.steer("survivor");
		await tools.client.abort();
		turn.release();
		const pending = (await tools.client.getState()).pendingMessageCount;
		return [pending, await tools.client.clearQueue()];
	}],
	["a message that is queued while nothing runs", async ({ client, model, turn }) => {
		const queued = await client.steer("beforehand");
		model.reply({ text: "First." });
		model.reply({ text: "Second." });
		await turn(() => client.prompt("Start"));
		return queued;
	}],
	["a request that fails", ({ client, model, turn }) => {
		model.reply({ status: 400 });
		return turn(() => client.prompt("Fail"));
	}],
	["messages after a failure", ({ client }) => client.getMessages()],
	["last text after a failure", ({ client }) => client.getLastAssistantText()],
	["a request that is tried again", ({ client, model, turn }) => {
		model.reply({ status: 500 });
		model.reply({ text: "The second attempt." });
		return turn(() => client.prompt("Try"));
	}],
	["a command of the user", ({ client }) => client.bash("echo hello")],
	["a command that fails", ({ client }) => client.bash("exit 3")],
	["a command outside the context", ({ raw }) => raw({ type: "bash", command: "echo aside", excludeFromContext: true })],
	["a command that is stopped", async ({ client, until }) => {
		const running = client.bash("echo begin; sleep 600");
		await until((event) => event.type === "bash_execution_update");
		await client.abortBash();
		return running;
	}],
	["a name", ({ client }) => client.setSessionName("  My\nname ")],
	["a name that is empty", ({ client }) => client.setSessionName(" ")],
	["a model that does not exist", ({ client }) => client.setModel("nobody", "nothing")],
	["another model", ({ client }) => client.setModel("prepared", "second")],
	["levels of a model that thinks", ({ client }) => client.getAvailableThinkingLevels()],
	["a level", ({ client }) => client.setThinkingLevel("high")],
	["the next level", ({ client }) => client.cycleThinkingLevel()],
	["a turn with another model", ({ client, model, turn }) => {
		model.reply({ think: "Hm.", text: "Another model." });
		return turn(() => client.prompt("Who is it?"));
	}],
	["state with another model", ({ client }) => client.getState()],
	["the next model", async ({ client }) => {
		await client.setModel("prepared", "first");
		return client.cycleModel();
	}],
	["modes of the queue", async ({ client }) => {
		await client.setSteeringMode("one-at-a-time");
		await client.setFollowUpMode("one-at-a-time");
	}],
	["automatic retries", ({ client }) => client.setAutoRetry(true)],
	["an abort of no retry", ({ client }) => client.abortRetry()],
	["commands", ({ client }) => client.getCommands()],
	["a fork", async ({ client }) => {
		const messages = await client.getForkMessages();
		const forked = await client.fork(messages[1].entryId);
		return [forked, await client.getMessages()];
	}],
	["a fork of nothing", ({ client }) => client.fork("nothing")],
	["a clone", async ({ client }) => [await client.clone(), (await client.getMessages()).length]],
	["a new session and back", async ({ client }) => {
		const { sessionFile } = await client.getState();
		const created = await client.newSession();
		const empty = await client.getState();
		const back = await client.switchSession(sessionFile);
		return [created, empty, back, (await client.getMessages()).length];
	}],
	["a compaction", async ({ client, model, turn }) => {
		for (const text of ["one", "two", "three"]) {
			model.reply({ text: text.repeat(60) });
			await turn(() => client.prompt(text.repeat(60)));
		}
		model.reply({ text: "A summary of it all." });
		model.reply({ text: "A summary of the rest." });
		return client.compact("Be brief");
	}],
	["a turn after a compaction", ({ client, model, turn }) => {
		model.reply({ text: "I remember." });
		return turn(() => client.prompt("Do you remember?"));
	}],
	["an export", async ({ client, cwd }) => {
		const file = join(cwd, "session.html");
		const { path } = await client.exportHtml(file);
		return [path === file, existsSync(file)];
	}],
	["a new session without messages", async ({ client }) => {
		await client.newSession();
		return client.compact().then(() => "compacted", () => "refused");
	}],
	["a prompt with an image", ({ client, model, turn }) => {
		model.reply({ text: "It is small." });
		return turn(() => client.prompt("What is it?", [{ type: "image", data: PICTURE, mimeType: "image/png" }]));
	}],
	["messages with an image", ({ client }) => client.getMessages()],
	["dialogs that are answered", (tools) => ask(tools, [{ value: "two" }, { confirmed: true }, { value: "Ada" }, { value: "Text." }])],
	["dialogs that are canceled", (tools) => ask(tools, Array(4).fill({ cancelled: true }))],
	["automatic compaction", async ({ client }) => {
		await client.setAutoCompaction(false);
		await client.newSession();
		const { autoCompactionEnabled } = await client.getState();
		await client.setAutoCompaction(true);
		return autoCompactionEnabled;
	}],
	["a long session", async ({ client, cwd }) => {
		const file = join(cwd, "long.jsonl");
		writeChain(file, cwd, 1000);
		const switched = await client.switchSession(file);
		// When pi opens a session, it appends entries.
		const { entries } = await client.getEntries();
		const [messages, { messageCount }] = [await client.getMessages(), await client.getState()];
		return [switched, messagesOf(await client.getTree()), entries.filter(isMessage).length, messages, messageCount, await client.getSessionStats()];
	}],
	["a new session after it", ({ client }) => client.newSession()],
	["a line that is not JSON", ({ line }) => line("{junk")],
	["a command that does not exist", ({ raw }) => raw({ type: "dance" })],
	["a line with CR and separators", async ({ client, line, model, until }) => {
		model.reply({ text: "a\u2028b" });
		const answer = await line('{"id":"raw","type":"prompt","message":"x\u2028y"}\r');
		await until((event) => event.type === "agent_settled");
		return [answer, await client.getLastAssistantText()];
	}],
];
