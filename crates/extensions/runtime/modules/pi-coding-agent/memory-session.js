// `SessionManager.inMemory()`: a session of the extension's own. It is stored nowhere, and Osier does not see it.

import { buildContextEntries, buildSessionContext, buildSessionProjection } from "osier:modules/pi-coding-agent/conversation.js";

const newId = () => Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, "0");

export class MemorySession {
	#entries = [];
	#byId = new Map();
	#labels = new Map();
	#leafId = null;
	#header;
	#name;
	constructor(cwd = "/", header, entries = []) {
		this.#header = header ?? { type: "session", version: 3, id: `${newId()}${newId()}`, timestamp: new Date().toISOString(), cwd };
		for (const entry of entries) this.#add(entry);
	}
	get header() {
		return this.#header;
	}
	/** For a session that is also stored elsewhere. */
	stored() {}
	#add(entry) {
		this.#entries.push(entry);
		this.#byId.set(entry.id, entry);
		this.#leafId = entry.id;
		if (entry.type === "session_info") this.#name = entry.name;
		if (entry.type === "label") this.#labels.set(entry.targetId, entry.label || undefined);
	}
	#append(fields) {
		const entry = { ...fields, id: newId(), parentId: this.#leafId, timestamp: new Date().toISOString() };
		this.#add(entry);
		this.stored(entry);
		return entry.id;
	}
	#require(id) {
		if (!this.#byId.has(id)) throw new Error(`Entry ${id} not found`);
	}
	appendMessage = (message) => this.#append({ type: "message", message });
	appendCustomEntry = (customType, data) => this.#append({ type: "custom", customType, data });
	appendCustomMessageEntry = (customType, content, display = true, details) => this.#append({ type: "custom_message", customType, content, display, details });
	appendCompaction = (summary, firstKeptEntryId, tokensBefore, details) => this.#append({ type: "compaction", summary, firstKeptEntryId, tokensBefore, details });
	appendThinkingLevelChange = (thinkingLevel) => this.#append({ type: "thinking_level_change", thinkingLevel });
	appendModelChange = (provider, modelId) => this.#append({ type: "model_change", provider, modelId });
	appendContextEdit = (targetId, replacement) => this.#append({ type: "context_edit", targetId, replacement });
	appendUsage = (kind, provider, model, usage, note) => this.#append({ type: "usage", kind, provider, model, usage, note });
	appendSessionInfo = (name) => this.#append({ type: "session_info", name });
	appendLabelChange(targetId, label) {
		this.#require(targetId);
		return this.#append({ type: "label", targetId, label });
	}
	branch(id) {
		this.#require(id);
		this.#leafId = id;
	}
	resetLeaf() {
		this.#leafId = null;
	}
	branchWithSummary(id, summary, details) {
		if (id !== null) this.#require(id);
		this.#leafId = id;
		return this.#append({ type: "branch_summary", fromId: id ?? "root", summary, details });
	}
	getEntries = () => [...this.#entries];
	getEntry = (id) => this.#byId.get(id);
	getLeafId = () => this.#leafId;
	getLeafEntry = () => this.#byId.get(this.#leafId);
	getLabel = (id) => this.#labels.get(id);
	getChildren = (id) => this.#entries.filter((entry) => entry.parentId === id);
	getBranch(fromId = this.#leafId) {
		const branch = [];
		for (let entry = this.#byId.get(fromId); entry; entry = this.#byId.get(entry.parentId)) branch.unshift(entry);
		return branch;
	}
	getTree() {
		const nodes = new Map(this.#entries.map((entry) => [entry.id, { entry, children: [], label: this.#labels.get(entry.id) }]));
		const roots = [];
		for (const node of nodes.values()) (nodes.get(node.entry.parentId)?.children ?? roots).push(node);
		return roots;
	}
	getHeader = () => this.#header;
	getSessionId = () => this.#header.id;
	getSessionName = () => this.#name;
	getSessionFile = () => undefined;
	getSessionDir = () => "";
	getCwd = () => this.#header.cwd;
	isPersisted = () => false;
	buildSessionContext = () => buildSessionContext(this.#entries, this.#leafId);
	buildSessionProjection = () => buildSessionProjection(this.#entries, this.#leafId);
	getEntryCount = () => this.#entries.length;
	usesDefaultSessionDir = () => false;
	buildContextEntries = () => buildContextEntries(this.#entries, this.#leafId);
	/** The path to an entry becomes the whole session. Labels of it stay. */
	createBranchedSession(leafId) {
		this.#require(leafId);
		const branch = this.getBranch(leafId).filter(({ type }) => type !== "label");
		const labels = branch.flatMap(({ id }) => (this.#labels.get(id) ? [[id, this.#labels.get(id)]] : []));
		this.#header = { ...this.#header, id: `${newId()}${newId()}`, timestamp: new Date().toISOString() };
		[this.#entries, this.#byId, this.#labels, this.#leafId] = [[], new Map(), new Map(), null];
		for (const [at, entry] of branch.entries()) this.#add({ ...entry, parentId: branch[at - 1]?.id ?? null });
		for (const [id, label] of labels) this.#append({ type: "label", targetId: id, label });
		return undefined;
	}
	// The names of earlier versions.
	getPath = (fromId) => this.getBranch(fromId);
	getLeafUuid = () => this.#leafId;
}
