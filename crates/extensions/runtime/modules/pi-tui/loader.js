// Components that show that something happens.

import { Text } from "osier:modules/pi-tui/boxes.js";
import { getKeybindings } from "osier:modules/pi-tui/keybindings.js";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

export class Loader extends Text {
	#frame = 0;
	#timer;
	constructor(tui, spinnerColor = (text) => text, messageColor = (text) => text, message = "Loading...", indicator = {}) {
		super("", 1, 0);
		Object.assign(this, { tui, spinnerColor, messageColor, message, indicator });
		this.start();
	}
	get frames() {
		return this.indicator?.frames ?? FRAMES;
	}
	start() {
		this.stop();
		this.#update();
		this.#timer = setInterval(() => {
			this.#frame += 1;
			this.#update();
		}, this.indicator?.intervalMs ?? 80);
	}
	stop() {
		clearInterval(this.#timer);
		this.#timer = undefined;
	}
	dispose() {
		this.stop();
	}
	setMessage(message) {
		this.message = message;
		this.#update();
	}
	setIndicator(indicator) {
		this.indicator = indicator ?? {};
		this.start();
	}
	#update() {
		const frame = this.frames.length ? this.frames[this.#frame % this.frames.length] : "";
		this.setText(`${frame ? `${this.spinnerColor(frame)} ` : ""}${this.messageColor(this.message)}`);
		this.tui?.requestRender?.();
	}
	render(width) {
		return ["", ...super.render(width)];
	}
}

export class CancellableLoader extends Loader {
	#controller = new AbortController();
	onAbort;
	get signal() {
		return this.#controller.signal;
	}
	get aborted() {
		return this.#controller.signal.aborted;
	}
	handleInput(data) {
		if (!getKeybindings().matches(data, "tui.select.cancel")) return;
		this.#controller.abort();
		this.onAbort?.();
	}
}
