// A model on this machine: a server for chat completions whose replies the caller prepares, one for each request.
import { createServer } from "node:http";

/**
 * Starts a server. `reply` prepares the next reply: `{think, text, calls: [{name, args}], pause, hold, status}`. The reply stops before
 * its end: `pause` milliseconds, and with `hold` until `release` is called. `reply` returns `{asked, release}`: `asked` resolves when the request has arrived.
 */
export async function startModel() {
	const prepared = [];
	const requests = [];
	let count = 0;
	const server = createServer((request, response) => {
		const body = [];
		request.on("data", (piece) => body.push(piece)).on("end", () => {
			requests.push(Buffer.concat(body).toString());
			const next = prepared.shift() ?? { text: "This reply was not prepared.", asked: () => {}, released: Promise.resolve() };
			next.asked();
			answer(response, next, ++count).catch(() => response.destroy());
		});
	});
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		url: `http://127.0.0.1:${server.address().port}/v1`,
		reply(step) {
			let release, asked;
			const released = new Promise((resolve) => (release = resolve));
			const arrived = new Promise((resolve) => (asked = resolve));
			prepared.push({ ...step, released, asked });
			return { asked: arrived, release };
		},
		/** The bodies of all requests so far. */
		requests,
		unused: () => prepared.splice(0).length,
		close: () => {
			server.closeAllConnections();
			server.close();
		},
	};
}

async function answer(response, step, number) {
	if (step.status) {
		response.writeHead(step.status, { "content-type": "application/json" });
		return response.end(JSON.stringify({ error: { message: "prepared failure", type: "api_error" } }));
	}
	response.writeHead(200, { "content-type": "text/event-stream" });
	const chunk = (rest) => response.write(`data: ${JSON.stringify({ id: `reply-${number}`, object: "chat.completion.chunk", created: 1, model: "first", ...rest })}\n\n`);
	const delta = (delta, finish = null) => chunk({ choices: [{ index: 0, delta, finish_reason: finish }] });
	delta({ role: "assistant", content: "" });
	for (const piece of pieces(step.think)) delta({ reasoning_content: piece });
	for (const piece of pieces(step.text)) delta({ content: piece });
	if (step.pause) await new Promise((resolve) => setTimeout(resolve, step.pause));
	if (step.hold) await step.released;
	const calls = step.calls ?? [];
	for (const [index, call] of calls.entries()) {
		delta({ tool_calls: [{ index, id: `call_${number}_${index}`, type: "function", function: { name: call.name, arguments: "" } }] });
		for (const piece of pieces(JSON.stringify(call.args))) delta({ tool_calls: [{ index, function: { arguments: piece } }] });
	}
	delta({}, calls.length ? "tool_calls" : "stop");
	chunk({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } });
	response.end("data: [DONE]\n\n");
}

function pieces(text = "") {
	return text.match(/.{1,9}/gs) ?? [];
}
