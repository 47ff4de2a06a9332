// Streams of events that also have a result.

export class EventStream {
	#queue = [];
	#waiting = [];
	#done = false;
	#resolve;
	#result = new Promise((resolve) => {
		this.#resolve = resolve;
	});
	#isComplete;
	#extract;
	constructor(isComplete = () => false, extract = (event) => event) {
		this.#isComplete = isComplete;
		this.#extract = extract;
	}
	push(event) {
		if (this.#done) return;
		if (this.#isComplete(event)) {
			this.#done = true;
			this.#resolve(this.#extract(event));
		}
		const waiting = this.#waiting.shift();
		if (waiting) waiting({ value: event, done: false });
		else this.#queue.push(event);
	}
	end(result) {
		this.#done = true;
		if (result !== undefined) this.#resolve(result);
		for (const waiting of this.#waiting.splice(0)) waiting({ value: undefined, done: true });
	}
	result() {
		return this.#result;
	}
	async *[Symbol.asyncIterator]() {
		for (;;) {
			if (this.#queue.length) yield this.#queue.shift();
			else if (this.#done) return;
			else {
				const { value, done } = await new Promise((resolve) => this.#waiting.push(resolve));
				if (done) return;
				yield value;
			}
		}
	}
}

export class AssistantMessageEventStream extends EventStream {
	constructor() {
		super((event) => event.type === "done" || event.type === "error", (event) => (event.type === "done" ? event.message : event.error));
	}
}
export const createAssistantMessageEventStream = () => new AssistantMessageEventStream();
