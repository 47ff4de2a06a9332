// @ts-check
// The one store of a page. Rows, the leaf and the selection go in; every view reads from here. Content is not part of it:
// bodies are rendered elsewhere and looked up by entry.

/**
 * An entry without its content, as the protocol sends it.
 * @typedef {Object} Row
 * @property {string} id
 * @property {string | null} parentId
 * @property {string} type
 * @property {string} [role]
 * @property {string} [reason]
 * @property {string} [timestamp]
 * @property {string} [targetId]
 * @property {string} [label]
 * @property {boolean} [hasText]
 * @property {number} [calls]
 * @property {boolean} [hidden]
 * @property {string} preview
 */

/**
 * @typedef {{ text: string, status: string | null, events: object[] }} SubagentTask
 * @typedef {{ tool: string, requested: string | null, chosen: string | null, reason: string | null, allowed: boolean | null }} ToolRoute
 */

/**
 * A task of a sub-agent as the engine projects it.
 * @typedef {{ key: string, taskId?: string, title: string, goal: string, status: string, summary: string, agent?: string, sessionId?: string,
 *   activity?: string, toolCalls?: number, usage?: { totalTokens: number } }} TaskPanel
 */

/**
 * What one entry says about a batch of sub-agents.
 * @typedef {{ batchId: string | null, status: string | null, items: SubagentTask[], events: object[], evidence: object[], routes: ToolRoute[] }} SubagentsRecord
 */

/**
 * A batch of sub-agents, from all entries about it.
 * @typedef {Object} SubagentRuntime
 * @property {string | null} batchEntryId
 * @property {string | null} resultEntryId
 * @property {string | null} status
 * @property {SubagentTask[]} tasks
 * @property {SubagentTask[]} results
 * @property {object[]} events
 * @property {object[]} evidence
 * @property {TaskPanel[]} panels
 */

/**
 * @typedef {Object} SessionMeta
 * @property {string} sessionId
 * @property {string} title
 * @property {string | null} leafEntryId
 */

/** Kinds of entries that the conversation shows. */
const SHOWN_KINDS = new Set([
  "message", "custom_message", "compaction", "branch_summary", "backtrack", "subagent_batch", "subagent_result",
  "model_change", "thinking_level_change",
]);

/** Kinds of entries that the conversation shows, and that are not part of what was said. */
const SETTING_KINDS = new Set(["model_change", "thinking_level_change"]);

/** @param {Row} row */
export function isContent(row) {
  return SHOWN_KINDS.has(row.type) && !SETTING_KINDS.has(row.type) && row.role !== "system";
}

/**
 * The children of each entry, in the order of the log. A list per entry would take much of the memory of a large session, so the
 * children of an entry are linked.
 */
export class ChildIndex {
  /** @param {Map<string, number>} entryById */
  constructor(entryById) {
    this.entryById = entryById;
    /** @type {number[]} By the index of the parent plus one; the roots are below 0. */
    this.firstChild = [-1];
    /** @type {number[]} */
    this.lastChild = [-1];
    /** @type {number[]} By the index of the entry. */
    this.nextSibling = [];
  }

  /** Adds the next entry. @param {number} index @param {number} parent -1 for a root. */
  add(index, parent) {
    this.firstChild[index + 1] = this.lastChild[index + 1] = this.nextSibling[index] = -1;
    const last = this.lastChild[parent + 1];
    if (last < 0) this.firstChild[parent + 1] = index;
    else this.nextSibling[last] = index;
    this.lastChild[parent + 1] = index;
  }

  /** The indexes of the children. @param {number} parent -1 for the roots. */
  below(parent) {
    const children = [];
    for (let at = this.firstChild[parent + 1] ?? -1; at >= 0; at = this.nextSibling[at]) children.push(at);
    return children;
  }

  /** The same by the id of the parent; null for the roots. @param {string | null} id */
  get(id) {
    return this.below(id === null ? -1 : this.entryById.get(id) ?? NaN);
  }
}

export class SessionStore {
  /** @param {SessionMeta} sessionMeta */
  constructor(sessionMeta) {
    this.sessionMeta = sessionMeta;
    /** @type {Row[]} All entries, in the order of the log. */
    this.entries = [];
    /** @type {Map<string, number>} The index of each entry. */
    this.entryById = new Map();
    /** @type {number[]} The index of the parent of each entry; -1 for a root, and below an entry that is not known. */
    this.parents = [];
    this.childrenByParentId = new ChildIndex(this.entryById);
    /** @type {string[]} The ids of the path that is shown, from the root to its end. */
    this.activePathIds = [];
    /** @type {Row[]} The entries of that path that the conversation shows. */
    this.visibleEntries = [];
    /** @type {Map<string, SubagentRuntime>} */
    this.subagentRuntimeByBatchId = new Map();
    /** @type {Map<string, ToolRoute[]>} */
    this.toolRuntimeRoutesByBatchId = new Map();
    /** @type {Map<string, string>} The batch of each entry that is about one. */
    this.batchByEntryId = new Map();
    /** @type {string | null} */
    this.selectedEntryId = null;
    /** @type {string | null} The target of a move that was sent. */
    this.switchingLeafEntryId = null;
    /** @type {{ targetEntryId: string, previousLeafId: string | null, requestId: string, leaves: (string | null)[] } | null} The leaves are those since it was sent. */
    this.pendingLeafConfirmation = null;
    /** @type {Map<string, string>} */
    this.labelsByEntryId = new Map();
    /** @type {Set<number>} Indexes of the entries of the shown path. */
    this.activePath = new Set();
    /** @type {Set<number>} Indexes of the entries of deleted branches. */
    this.deleted = new Set();
    /** @type {Int32Array | null} For each entry, the newest entry at or below it. Computed when needed. */
    this.newest = null;
    /** Whether hidden messages of extensions are shown. */
    this.showsHidden = false;
    /** @type {Set<(what: string, id?: string) => void>} */
    this.listeners = new Set();
  }

  /** @param {(what: string, id?: string) => void} listener Called with "rows", "path", "selection", "labels", or "entry" and its id. */
  subscribe(listener) {
    this.listeners.add(listener);
  }

  /** @param {string} what @param {string} [id] */
  notify(what, id) {
    for (const listener of this.listeners) listener(what, id);
  }

  /** @param {Row[]} rows The next rows of the log. */
  addRows(rows) {
    for (const row of rows) {
      const index = this.entries.length;
      const parent = row.parentId === null ? -1 : this.entryById.get(row.parentId) ?? -1;
      this.entries.push(row);
      this.entryById.set(row.id, index);
      this.parents.push(parent);
      this.childrenByParentId.add(index, parent);
      if (row.type === "label" && row.targetId && row.label) this.labelsByEntryId.set(row.targetId, row.label);
    }
    this.newest = null;
    this.notify("rows");
  }

  /** Records what an entry says about a batch of sub-agents. The results count more than the start. @param {Row} row @param {SubagentsRecord} record */
  setSubagents(row, record) {
    const batchId = record.batchId ?? row.id;
    const known = this.subagentRuntimeByBatchId.get(batchId);
    const { status, items, events, evidence, routes } = record;
    const isResult = row.type === "subagent_result";
    const counts = isResult || !known?.resultEntryId;
    this.batchByEntryId.set(row.id, batchId);
    if (counts) this.toolRuntimeRoutesByBatchId.set(batchId, routes);
    this.setBatch(batchId, {
      ...(isResult ? { resultEntryId: row.id, results: items } : { batchEntryId: row.id, tasks: items }),
      ...(counts ? { status, events, evidence } : {}),
    });
  }

  /** Records what the engine projects of a batch. @param {any} projection */
  setProjection({ batchId, status, taskPanels, processEvents, evidence, toolRuntimeRoutes }) {
    this.toolRuntimeRoutesByBatchId.set(batchId, toolRuntimeRoutes);
    this.setBatch(batchId, { status, panels: taskPanels, events: processEvents, evidence });
  }

  /** @param {string} batchId @param {Partial<SubagentRuntime>} changes */
  setBatch(batchId, changes) {
    const known = this.subagentRuntimeByBatchId.get(batchId);
    /** @type {SubagentRuntime} */
    const empty = { batchEntryId: null, resultEntryId: null, status: null, tasks: [], results: [], events: [], evidence: [], panels: [] };
    const next = { ...(known ?? empty), ...changes };
    this.subagentRuntimeByBatchId.set(batchId, next);
    if (!known || !next.batchEntryId) return;
    if (known.status !== next.status) this.notify("entry", next.batchEntryId);
    else if (changes.panels) this.notify("tasks", next.batchEntryId);
  }

  /** The batch that an entry is about, if it is known. @param {string} id */
  batchIdOf(id) {
    const batchId = this.batchByEntryId.get(id);
    // An entry that names no batch stands for itself.
    return batchId === id ? "" : batchId;
  }

  /** The state of the batch that an entry is about, if it is about one. @param {string} id */
  subagentRuntime(id) {
    return this.subagentRuntimeByBatchId.get(this.batchByEntryId.get(id) ?? "");
  }

  /** @param {string} id @returns {Row | undefined} */
  entry(id) {
    const index = this.entryById.get(id);
    return index === undefined ? undefined : this.entries[index];
  }

  /** The index of the parent of an entry; -1 for a root. @param {number} index */
  parentIndex(index) {
    return this.parents[index];
  }

  /** The children of an entry. @param {number} index -1 for the roots. @returns {number[]} */
  children(index) {
    return this.childrenByParentId.below(index);
  }

  /** The indexes of the path to an entry, from the root. @param {number} index @returns {number[]} */
  pathTo(index) {
    const path = [];
    for (let at = index; at >= 0 && path.length <= this.entries.length; at = this.parentIndex(at)) path.push(at);
    return path.reverse();
  }

  /** The newest entry at or below an entry. @param {number} index */
  newestBelow(index) {
    if (!this.newest) {
      this.newest = Int32Array.from(this.entries, (_, at) => at);
      for (let at = this.entries.length - 1; at >= 0; at--) {
        const parent = this.parentIndex(at);
        if (parent >= 0 && this.newest[parent] < this.newest[at]) this.newest[parent] = this.newest[at];
      }
    }
    return this.newest[index];
  }

  /** Shows the path to an entry. @param {string | null} id */
  showPath(id) {
    const index = id === null ? undefined : this.entryById.get(id);
    const path = index === undefined ? [] : this.pathTo(index);
    this.activePath = new Set(path);
    this.activePathIds = path.map((at) => this.entries[at].id);
    this.visibleEntries = path.map((at) => this.entries[at]).filter((row) => this.isShown(row));
    this.notify("path");
  }

  /** Adds an entry to the end of the shown path. @param {number} index */
  extendPath(index) {
    const row = this.entries[index];
    this.activePath.add(index);
    this.activePathIds.push(row.id);
    if (this.isShown(row)) this.visibleEntries = [...this.visibleEntries, row];
    this.notify("path");
  }

  /**
   * Selects an entry. If it is not on the shown path, shows the path through it to its newest entry.
   * @param {string} id
   */
  select(id) {
    const index = this.entryById.get(id);
    if (index === undefined) return false;
    if (!this.activePath.has(index)) this.showPath(this.entries[this.newestBelow(index)].id);
    this.selectedEntryId = id;
    this.notify("selection");
    return true;
  }

  /** A move that was sent is confirmed, or has failed. */
  endSwitch() {
    this.pendingLeafConfirmation = null;
    this.switchingLeafEntryId = null;
  }

  /** Shows the path to the leaf of the session, and selects its end. @param {string | null} [keptId] This entry instead, if it is on the path. */
  showLeaf(keptId = null) {
    const leaf = this.entryById.get(this.sessionMeta.leafEntryId ?? "") ?? -1;
    const end = this.activePathIds.at(-1);
    // A session grows by one entry at a time, and its path may be long.
    if (leaf >= 0 && end !== undefined && this.entryById.get(end) === this.parents[leaf]) this.extendPath(leaf);
    else this.showPath(this.sessionMeta.leafEntryId);
    const isKept = keptId !== null && this.activePath.has(this.entryById.get(keptId) ?? -1);
    this.selectedEntryId = isKept ? keptId : this.visibleEntries.at(-1)?.id ?? null;
    this.notify("selection");
  }

  /** Whether nothing is selected, or what stands for the leaf. */
  isLeafSelected() {
    return this.shownIndex(this.selectedEntryId) < 0 || this.shownIndex(this.selectedEntryId) === this.leafIndex();
  }

  /** The index of the entry that stands for the leaf: the last one of the conversation at or above it. */
  leafIndex() {
    return this.shownIndex(this.sessionMeta.leafEntryId);
  }

  /** The index of the last entry of the conversation at or above an entry; -1 for none. @param {string | null} id */
  shownIndex(id) {
    let index = this.entryById.get(id ?? "") ?? -1;
    while (index >= 0 && !this.isShown(this.entries[index])) index = this.parentIndex(index);
    return index;
  }

  /** The last entry at or above another one that a model reads. Settings are none. @param {string | null} id @returns {string | null} */
  lastMessageAbove(id) {
    let index = this.entryById.get(id ?? "") ?? -1;
    while (index >= 0 && !isContent(this.entries[index])) index = this.parentIndex(index);
    return this.entries[index]?.id ?? null;
  }

  /** Whether the conversation shows an entry. @param {Row} row */
  isShown(row) {
    return SHOWN_KINDS.has(row.type) && !this.isHidden(row);
  }

  /** Whether an entry is a message that an extension hides. @param {Row} row */
  isHidden(row) {
    return row.type === "custom_message" && row.hidden === true && !this.showsHidden;
  }

  /** @param {boolean} showsHidden */
  showHidden(showsHidden) {
    if (this.showsHidden === showsHidden) return;
    this.showsHidden = showsHidden;
    this.showPath(this.activePathIds.at(-1) ?? null);
    this.notify("rows");
    this.notify("view");
  }

  /** Whether calls at the end of the shown path may still get a result. */
  mayContinue() {
    return false;
  }

  /** Whether the shown path is the one to the leaf of the session. */
  isAtLeaf() {
    return (this.activePathIds.at(-1) ?? null) === this.sessionMeta.leafEntryId;
  }

  /**
   * The entries that continue the conversation at the same place as this one, itself included.
   * @param {number} index
   * @returns {number[]}
   */
  alternatives(index) {
    return this.shownBelow(this.shownParent(index));
  }

  /** @param {number} index */
  shownParent(index) {
    let at = this.parentIndex(index);
    while (at >= 0 && !this.isShown(this.entries[at])) at = this.parentIndex(at);
    return at;
  }

  /** The first shown entries below an entry, without recursion. @param {number} index @returns {number[]} */
  shownBelow(index) {
    const found = [];
    const open = [...this.children(index)].reverse();
    while (open.length > 0) {
      const at = /** @type {number} */ (open.pop());
      if (this.isShown(this.entries[at])) found.push(at);
      else for (const child of [...this.children(at)].reverse()) open.push(child);
    }
    return found;
  }
}
