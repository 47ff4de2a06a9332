// Compares screens: every line that an extension adds to pi's screen must be on Osier's, and the other way round. Frames, spaces and the
// programs' own lines do not count.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { prepare } from "./extension_program.mjs";

/** Texts on pi's screen that are not of an extension. */
const OWN_LINES = [/^~?\/.*project/, /prepared.*first/, /^\$?[\d.]+[%k]?.*\/100k/, /^\d+(\.\d+)?%/, /^pi v?\d/i, /ctrl\+|escape|esc to/i, /^Extensions?:?$/i, /^\[.*\]$/, /\.ts$/, /^Working/, /^Warning: ripgr/, /↑\d/, /extend Pi|loaded resources/, /^↑↓ navigate/, /^enter (submit|select)/, /^[⠁-⣿]/];

/** Texts on Osier's screen that are not of an extension. */
const OSIER_LINES = [/prepared\/first/, /alt\+t |ctrl\+|\/help|@ files/, /\b[0-9a-f]{8} file$/, /^[·✻✽✶✳✢⠁-⣿]/, /^esc stop · type to steer/, /^↑↓ move/, /^tab complete/, /^enter confirm/];
/** What Osier adds to a line of a running extension: the time, the tokens and a key. */
const OSIER_PROGRESS = / · \d+ s · .*esc to stop$/;

export async function compareScreens(programs, dir, entry, run, terminal) {
	const all = (extension, folder) => Promise.all(Object.values(programs).map((program) => screens(program, join(dir, folder, program.name), extension, extension ? run : { ...run, keys: [""] }, terminal)));
	const [pi, osier] = await all(entry, "with");
	const [piBefore, osierBefore] = (await all(undefined, "without")).map((screens) => lines(screens.join("\n")));
	// pi lists an extension that is a folder by the name of the folder.
	const ownLines = [...OWN_LINES, new RegExp(`^${basename(dirname(entry))}$`)];
	return pi.flatMap((screen, step) => {
		const where = (what) => `screen ${step + 1}, after ${JSON.stringify(keysOf(run.keys[step]))}: ${what}`;
		const other = osier[step] ?? "";
		// Osier takes a notification back with the next key; pi keeps it.
		const missing = added(screen, piBefore, ownLines, osier.slice(0, step + 1).join("\n"));
		const extra = added(other, osierBefore, OSIER_LINES, screen);
		return [...(missing.length ? [{ where: where("missing"), pi: missing, osier: lines(other) }] : []), ...(extra.length ? [{ where: where("extra"), pi: lines(screen), osier: extra }] : [])];
	});
}

/** The lines that an extension adds to a screen and that are not on the other one. An overlay cuts lines of the program itself. */
function added(screen, before, own, other) {
	const shown = text(other);
	const isShown = (line) => shown.includes(squeeze(line.replace(OSIER_PROGRESS, "")));
	return lines(screen).filter((line) => !own.some((pattern) => pattern.test(line)) && !isShown(line) && !isShown(withoutOwnParts(line, before)));
}

/** A line without its beginning and its end, as far as they are those of a line of the program itself, and without the program's marks. */
function withoutOwnParts(line, before) {
	const length = (count) => Math.max(0, ...before.map(count).filter((found) => found >= 3));
	const common = (a, b) => [...a].findIndex((character, at) => character !== [...b][at]);
	const count = (a, b) => (common(a, b) < 0 ? a.length : common(a, b));
	const reversed = (text) => [...text].reverse().join("");
	const start = length((known) => count(line, known));
	const end = length((known) => count(reversed(line), reversed(known)));
	return line.slice(start, Math.max(start, line.length - end)).replace(/^[>●] /, "");
}

const keysOf = (step) => (Array.isArray(step) ? step[0] : step);

/** The words of a line without frames and prompts. */
function words(line) {
	return line.replace(/[─━│┃╭╮╰╯┌┐└┘├┤┬┴┼═║╔╗╚╝▀▄█▌▐]/g, " ").replace(/\s+/g, " ").trim().replace(/^(Error|Warning): /, "").replace(/^[→›>●] /, "")
		// What a player of a game has reached depends on the time and on chance.
		.replace(/♥+/, "♥").replace(/\b(Score|High|Hi): \d+/g, "$1: N");
}

const squeeze = (line) => line.replace(/\s/g, "");

function lines(screen) {
	return screen.split("\n").map(words).filter((line) => /[\p{L}\p{N}]/u.test(line));
}

function text(screen) {
	return squeeze(screen.split("\n").map(words).join(""));
}

/** The screen after each step. */
async function screens(program, dir, entry, run, terminal) {
	mkdirSync(dir, { recursive: true });
	const { model, cwd, args, env } = await prepare(program, dir, run);
	const shell = new Screen([terminal, "terminal", ...program.command, ...args, ...(entry ? ["-e", entry] : [])], cwd, env);
	try {
		// The program is ready when it shows its model.
		await shell.press("", "first");
		const shots = [];
		for (const step of run.keys) {
			const [keys, replies] = Array.isArray(step) ? step : [step, []];
			for (const reply of replies) model.reply(reply);
			shots.push(await shell.type(keys));
		}
		shots.forEach((shot, at) => writeFileSync(join(dir, `screen-${at + 1}.txt`), shot));
		return shots;
	} finally {
		shell.close();
		model.close();
	}
}

class Screen {
	#waiting = [];
	#rest = "";

	constructor([program, ...args], cwd, env) {
		this.child = spawn(program, args, { cwd, env });
		this.child.stdout.setEncoding("utf8").on("data", (data) => {
			const parts = (this.#rest + data).split("\n");
			this.#rest = parts.pop();
			for (const part of parts) this.#waiting.shift()?.(JSON.parse(part));
		});
		this.child.on("close", () => this.#waiting.splice(0).forEach((resolve) => resolve("")));
		this.child.stdin.on("error", () => {});
	}

	press(keys, until) {
		return new Promise((resolve) => {
			this.#waiting.push(resolve);
			this.child.stdin.write(`${JSON.stringify({ keys, until })}\n`);
		});
	}

	/** A line is typed first, so that a list of completions does not take the Enter. */
	async type(keys) {
		if (!keys.endsWith("\r") || keys.length === 1) return await this.press(keys);
		await this.press(keys.slice(0, -1));
		return await this.press("\r");
	}

	close() {
		// The terminal ends its program.
		this.child.stdin.end();
	}
}
