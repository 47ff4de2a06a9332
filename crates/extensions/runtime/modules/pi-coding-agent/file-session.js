// `SessionManager.open` and the like: sessions of the extension's own, in files that it may use. Osier's own sessions are closed.

import { MemorySession } from "osier:modules/pi-coding-agent/memory-session.js";
import * as fs from "osier:node/fs.js";
import * as path from "osier:node/path.js";

const readLines = (file) => fs.readFileSync(file, "utf8").split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));

/** A session whose entries are also in a file. */
export class FileSession extends MemorySession {
	#file;
	constructor(file, header, entries) {
		super(header.cwd, header, entries);
		this.#file = file;
	}
	static open(file) {
		const [header, ...entries] = readLines(file);
		if (header?.type !== "session") throw new Error(`${file} is not a session`);
		return new FileSession(file, header, entries);
	}
	static create(cwd, folder, parentSession) {
		const { header } = new MemorySession(cwd);
		const file = path.join(folder, `${header.timestamp.replace(/[:.]/g, "-")}_${header.id}.jsonl`);
		const complete = parentSession ? { ...header, parentSession } : header;
		fs.mkdirSync(folder, { recursive: true });
		fs.writeFileSync(file, `${JSON.stringify(complete)}\n`);
		return new FileSession(file, complete, []);
	}
	/** The path to the leaf of another file, in a new one. */
	static forkFrom(source, cwd, folder) {
		const copy = FileSession.create(cwd, folder, source);
		const branch = FileSession.open(source).getBranch();
		fs.appendFileSync(copy.getSessionFile(), branch.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
		return FileSession.open(copy.getSessionFile());
	}
	/** Newest first. */
	static list(folder) {
		if (!fs.existsSync(folder)) return [];
		const files = fs.readdirSync(folder).filter((name) => name.endsWith(".jsonl")).map((name) => path.join(folder, name));
		return files.map(describe).filter(Boolean).sort((a, b) => b.modified - a.modified);
	}
	stored(entry) {
		if (this.#file) fs.appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
	}
	/** A new file with the path to an entry, which this session is from now on. */
	createBranchedSession(leafId) {
		const before = this.#file;
		this.#file = undefined;
		super.createBranchedSession(leafId);
		const header = { ...this.header, parentSession: before };
		this.#file = path.join(path.dirname(before), `${header.timestamp.replace(/[:.]/g, "-")}_${header.id}.jsonl`);
		fs.writeFileSync(this.#file, [header, ...this.getEntries()].map((line) => `${JSON.stringify(line)}\n`).join(""));
		return this.#file;
	}
	getSessionFile = () => this.#file;
	getSessionDir = () => path.dirname(this.#file);
	isPersisted = () => true;
}

const textOf = ({ content }) => (typeof content === "string" ? content : (content ?? []).map((block) => block.text ?? "").join(" "));

/** What a list shows of a session; nothing for a file that is none. */
function describe(file) {
	try {
		const session = FileSession.open(file);
		const messages = session.getEntries().flatMap(({ message }) => (message ? [message] : []));
		const { id, cwd, timestamp, parentSession } = session.getHeader();
		const first = messages.find(({ role }) => role === "user");
		return {
			path: file,
			id,
			cwd,
			name: session.getSessionName(),
			parentSessionPath: parentSession,
			created: new Date(timestamp),
			modified: fs.statSync(file).mtime,
			messageCount: messages.length,
			firstMessage: first ? textOf(first) : "(no messages)",
			allMessagesText: messages.map(textOf).join(" "),
		};
	} catch {
		return undefined;
	}
}
