// The module `readline` of Node: lines of a stream. There is no terminal to ask; `ctx.ui.input` asks the user.

import { EventEmitter } from "osier:node/events.js";

export class Interface extends EventEmitter {
	#rest = "";
	closed = false;
	constructor({ input }) {
		super();
		this.input = input;
		input?.setEncoding?.("utf8");
		input?.on("data", (chunk) => {
			const lines = (this.#rest + chunk).split(/\r?\n/);
			this.#rest = lines.pop();
			for (const line of lines) this.emit("line", line);
		});
		input?.on("end", () => {
			if (this.#rest) this.emit("line", this.#rest);
			this.#rest = "";
			this.close();
		});
		input?.on("error", (error) => this.emit("error", error));
	}
	close() {
		if (this.closed) return;
		this.closed = true;
		this.emit("close");
	}
	pause() {
		this.input?.pause?.();
		return this;
	}
	resume() {
		this.input?.resume?.();
		return this;
	}
	setPrompt() {}
	prompt() {}
	write() {}
	question() {
		throw new Error("readline.question is not available in Osier's extensions; use ctx.ui.input");
	}
	async *[Symbol.asyncIterator]() {
		const lines = [];
		let wake = () => {};
		let failed;
		this.on("line", (line) => (lines.push(line), wake()));
		this.on("close", () => wake());
		this.on("error", (error) => ((failed = error), wake()));
		for (;;) {
			if (lines.length) yield lines.shift();
			else if (failed) throw failed;
			else if (this.closed) return;
			else await new Promise((resolve) => (wake = resolve));
		}
	}
}
export const createInterface = (options) => new Interface(options?.input ? options : { input: options });
export const clearLine = () => true;
export const cursorTo = () => true;
export const moveCursor = () => true;
export const emitKeypressEvents = () => {};
export default { Interface, createInterface, clearLine, cursorTo, moveCursor, emitKeypressEvents };
