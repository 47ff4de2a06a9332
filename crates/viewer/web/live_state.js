// @ts-check
// The store of the live page: the tree, and what happens in the session now. Snapshots and events go in; nothing here
// touches the document or the network.

import { ChildIndex, SessionStore, isContent } from "./state.js";

/** @typedef {import("./state.js").Row} Row */

/**
 * A block of a reply that is being written.
 * @typedef {{ type: "text", text: string } | { type: "thinking", thinking: string }
 *   | { type: "toolCall", id: string, name: string, arguments: any, json: string }} DraftBlock The arguments are null until all of them are there.
 */

/**
 * @typedef {Object} Draft
 * @property {string} id
 * @property {(DraftBlock | undefined)[]} blocks
 * @property {number} deltas The number of pieces so far.
 * @property {boolean} isStored Its entry is stored and will be shown soon.
 */

/** @typedef {{ call: string, name: string, arguments: any, output: string, skipped: number, isEnded: boolean, isError: boolean }} RunningTool */

/** The states of a task that goes on. */
const UNFINISHED = new Set(["queued", "running"]);
/** The longest output of a running tool that is kept. */
const MAX_OUTPUT = 20_000;

export class LiveStore extends SessionStore {
  constructor() {
    super({ sessionId: "", title: "", leafEntryId: null });
    /** @type {any} What the gateway says about the opened session. */
    this.info = null;
    /** @type {any} The last status: model, thinking, context, cost. */
    this.status = null;
    /** The generation of the log that the rows are of. */
    this.logGeneration = "";
    /** @type {Map<string, Draft>} */
    this.drafts = new Map();
    /** @type {Map<string, RunningTool>} */
    this.tools = new Map();
    /** @type {Map<number, any>} Open questions by id. */
    this.questions = new Map();
    /** @type {{ steering: string[], followUp: string[] }} */
    this.queue = { steering: [], followUp: [] };
    this.turnRunning = false;
    /** @type {Map<number, string | undefined>} What extensions do, by its id: the command, or the check of a prompt. */
    this.extensionWork = new Map();
    /** Whether it is known if a turn is running. */
    this.isFollowed = false;
    /** The last turn on the path did not finish. */
    this.unfinishedTurn = false;
    /** @type {Map<string, import("./state.js").TaskPanel>} Tasks that sub-agents do now, by key. */
    this.runningTasks = new Map();
    /** @type {Map<string, string>} What extensions show in the status line, by key. */
    this.extensionStatus = new Map();
    /** @type {Map<string, string[]>} Lines of extensions beside the editor, by key. */
    this.extensionWidgets = new Map();
    this.shellOutput = "";
    /** @type {{ of: string, text: string } | null} A summary that is being written. */
    this.summary = null;
    /** @type {string | null} */
    this.retrying = null;
    /** @type {string | null} Why the last turn failed. */
    this.turnError = null;
    /** Whether all rows of the tree are known. */
    this.isComplete = false;
  }

  /** Where the log continues after the rows that are known; null if some are missing. */
  position() {
    return this.isComplete ? { generation: this.logGeneration, entries: this.entries.length } : null;
  }

  /** Forgets the tree. The views keep what they draw until there are rows again. */
  clear() {
    this.entries = [];
    this.activePathIds = [];
    this.activePath = new Set();
    this.entryById = new Map();
    this.parents = [];
    this.childrenByParentId = new ChildIndex(this.entryById);
    this.labelsByEntryId = new Map();
    this.newest = null;
    this.isComplete = false;
  }

  /**
   * Replaces all rows.
   * @param {Row[]} rows
   * @param {string | null} leafId
   * @param {boolean} isComplete
   */
  replace(rows, leafId, isComplete) {
    const wasAtLeaf = this.activePathIds.length === 0 || this.isAtLeaf();
    const shown = this.activePathIds.at(-1) ?? null;
    const selected = this.isLeafSelected() ? null : this.selectedEntryId;
    this.clear();
    this.isComplete = isComplete;
    this.sessionMeta.leafEntryId = leafId;
    this.addRows(rows);
    this.readMarks();
    if (wasAtLeaf || !shown || !this.entryById.has(shown)) this.showLeaf(selected);
    else this.showPath(shown);
  }

  /** Adds stored entries. Those that are known already are ignored. @param {Row[]} rows */
  append(rows) {
    const fresh = rows.filter((row) => !this.entryById.has(row.id));
    if (fresh.length === 0) return;
    this.addRows(fresh);
    for (const row of fresh) if (row.type === "label" && row.targetId && !row.label) this.labelsByEntryId.delete(row.targetId);
    if (fresh.some((row) => row.type === "delete_branch" || row.type === "restore_branch")) this.updateMarks();
    if (fresh.some((row) => row.type === "label")) this.notify("labels");
  }

  /** Replaces rows whose state changed. @param {Row[]} rows */
  update(rows) {
    for (const row of rows) {
      const index = this.entryById.get(row.id);
      if (index === undefined) continue;
      this.entries[index] = row;
      this.notify("entry", row.id);
    }
    this.notify("rows");
  }

  /** Reads the marks again. Leaves a branch that is deleted now. A deleted branch that somebody selects stays shown. */
  updateMarks() {
    const end = this.entryById.get(this.activePathIds.at(-1) ?? "") ?? -1;
    const wasDeleted = this.deleted.has(end);
    this.readMarks();
    if (!wasDeleted && this.deleted.has(end)) this.showLeaf(this.selectedEntryId);
  }

  /** Finds the entries of deleted branches: the last mark of a target counts. */
  readMarks() {
    /** @type {Set<string>} */
    const targets = new Set();
    for (const row of this.entries) {
      if (row.type === "delete_branch" && row.targetId) targets.add(row.targetId);
      if (row.type === "restore_branch" && row.targetId) targets.delete(row.targetId);
    }
    this.deleted = new Set();
    const rows = targets.size > 0 ? this.entries : [];
    rows.forEach((row, index) => {
      if (targets.has(row.id) || this.deleted.has(this.parentIndex(index))) this.deleted.add(index);
    });
    this.notify("rows");
  }

  /** Moves the leaf. The shown path follows if it ended at the old leaf, and so does the selection. @param {string | null} id */
  setLeaf(id) {
    const follows = this.isAtLeaf();
    const selected = this.isLeafSelected() ? null : this.selectedEntryId;
    this.sessionMeta.leafEntryId = id;
    this.pendingLeafConfirmation?.leaves.push(id);
    if (follows) this.showLeaf(selected);
    else this.notify("rows");
  }

  /** Where a prompt goes: to the leaf (null), or first to the selected entry. A mark stands for the entry that it is attached to. */
  continuation() {
    const selected = this.shownIndex(this.selectedEntryId);
    return this.leafIndex() < 0 || this.isLeafSelected() ? null : this.entries[selected];
  }

  /** Whether moves were undone that nothing followed, as far as the log says it. */
  mayRedo() {
    let redone = 0;
    for (let at = this.entries.length - 1; at >= 0; at--) {
      const row = this.entries[at];
      if (isContent(row)) return false;
      if (row.type !== "leaf") continue;
      if (row.reason === "undo" && redone-- === 0) return true;
      if (row.reason === "redo") redone++;
      else if (row.reason !== "undo") return false;
    }
    return false;
  }

  mayContinue() {
    return !this.isFollowed || (this.turnRunning && this.isAtLeaf());
  }

  /** Whether a turn runs, or an extension works and does not wait for the user. */
  isWorking() {
    return this.turnRunning || (this.extensionWork.size > 0 && this.questions.size === 0);
  }

  /** @param {any} state The state of the session when the page attached. */
  attach(state) {
    this.logGeneration = state.position.generation;
    this.turnRunning = state.turnRunning;
    this.extensionWork.clear();
    this.isFollowed = true;
    this.drafts = new Map();
    this.tools = new Map();
    this.runningTasks = new Map();
    this.summary = null;
    this.retrying = null;
    this.shellOutput = "";
    this.turnError = failureOf(state);
    // Those that are still there are shown again.
    this.extensionStatus.clear();
    this.extensionWidgets.clear();
    this.notify("extensions");
    for (const open of state.drafts) {
      if (open.offPath) continue;
      this.startDraft(open.id);
      open.deltas.forEach((/** @type {any} */ delta, /** @type {number} */ index) => this.addDelta(open.id, index, delta));
    }
    this.questions = new Map(state.openQuestions.map((/** @type {any} */ open) => [open.id, { ...open.question, agent: open.agent }]));
    for (const event of state.running ?? []) this.apply(event);
    const texts = (/** @type {any[]} */ prompts) => prompts.map((prompt) => prompt.text);
    this.queue = { steering: texts(state.queue.steering), followUp: texts(state.queue.followUp) };
    this.notify("runtime");
  }

  /** @param {string} id */
  startDraft(id) {
    this.drafts.set(id, { id, blocks: [], deltas: 0, isStored: false });
  }

  /**
   * Adds a piece of a reply. Returns false if one before it is missing.
   * @param {string} id @param {number} index @param {any} delta
   */
  addDelta(id, index, delta) {
    const draft = this.drafts.get(id);
    if (!draft || index < draft.deltas) return true;
    if (index > draft.deltas) return false;
    draft.deltas = index + 1;
    applyDelta(draft, delta);
    return true;
  }

  /** Removes what a stored entry replaces. @param {any} entry */
  settle(entry) {
    if (entry?.message?.role === "toolResult") this.tools.delete(entry.message.toolCallId);
    if (entry?.message?.role === "bashExecution") this.shellOutput = "";
    if (["compaction", "branch_summary", "custom_message"].includes(entry?.type)) this.summary = null;
  }

  endSummary() {
    this.summary = null;
    this.notify("runtime");
  }

  /**
   * Applies an event that is not an entry. Returns false if the page must attach again.
   * @param {any} event
   */
  apply(event) {
    switch (event.type) {
      case "draft_begun":
        if (!event.offPath) this.startDraft(event.id);
        this.retrying = null;
        break;
      case "draft":
        if (!this.addDelta(event.id, event.index, event.delta)) return false;
        this.retrying = null;
        this.notify("draft");
        return true;
      case "draft_dropped":
        this.drafts.delete(event.id);
        break;
      case "turn_started":
        Object.assign(this, { turnRunning: true, turnError: null, unfinishedTurn: false });
        break;
      case "turn_ended":
        this.endTurn(event);
        break;
      case "retrying":
        this.retrying = `${event.message} Trying again in ${Math.ceil(event.seconds)} s (attempt ${event.attempt})`;
        break;
      case "tool_started":
        this.tools.set(event.call, { call: event.call, name: event.name, arguments: event.arguments, output: "", skipped: 0, isEnded: false, isError: false });
        break;
      case "tool_output":
        this.addOutput(event);
        break;
      case "tool_ended": {
        const tool = this.tools.get(event.call);
        if (tool) Object.assign(tool, { isEnded: true, isError: event.isError });
        break;
      }
      case "asked":
        this.questions.set(event.id, { ...event.question, agent: event.agent });
        break;
      case "answered":
        this.questions.delete(event.id);
        break;
      case "extension_work_started":
        this.extensionWork.set(event.id, event.command);
        break;
      case "extension_work_ended":
        this.extensionWork.delete(event.id);
        break;
      case "queue":
        this.queue = { steering: event.steering, followUp: event.followUp };
        break;
      case "bash_output":
        this.shellOutput = (this.shellOutput + event.text).slice(-MAX_OUTPUT);
        break;
      case "summary_started":
        this.summary = { of: event.of, text: "" };
        break;
      case "summary_text":
        if (this.summary) this.summary.text += event.text;
        break;
      case "subagent_task":
        this.setTask(event.batchId, event.panel);
        break;
      case "lagged":
        return false;
      default:
        return true;
    }
    this.notify("runtime");
    return true;
  }

  /** Tasks that run are shown, also after a refresh. @param {any} projection */
  setProjection(projection) {
    super.setProjection(projection);
    if (!this.turnRunning || projection.status !== "running") return;
    for (const panel of projection.taskPanels) if (UNFINISHED.has(panel.status)) this.runningTasks.set(panel.key, panel);
    this.notify("runtime");
  }

  /** The state of a task changed. @param {string} batchId @param {import("./state.js").TaskPanel} panel */
  setTask(batchId, panel) {
    if (UNFINISHED.has(panel.status)) this.runningTasks.set(panel.key, panel);
    else this.runningTasks.delete(panel.key);
    const known = this.subagentRuntimeByBatchId.get(batchId);
    const panels = (known?.panels ?? []).filter(({ key }) => key !== panel.key);
    this.setBatch(batchId, { panels: [...panels, panel], status: known?.status ?? "running" });
  }

  /** @param {any} event */
  endTurn(event) {
    this.turnRunning = false;
    this.retrying = null;
    this.tools.clear();
    this.runningTasks.clear();
    for (const [id, draft] of this.drafts) if (!draft.isStored) this.drafts.delete(id);
    this.turnError = textOfEnd(event);
  }

  /** @param {any} event */
  addOutput(event) {
    const tool = this.tools.get(event.call);
    if (!tool) return;
    tool.output += event.text;
    tool.skipped += event.skipped;
    if (tool.output.length > MAX_OUTPUT) {
      tool.skipped += tool.output.length - MAX_OUTPUT;
      tool.output = tool.output.slice(-MAX_OUTPUT);
    }
  }
}

/** Why a turn ended, if it is worth a message. @param {{ finished: string | null, error: string | null }} ended */
function textOfEnd({ finished, error }) {
  return finished === "step_limit" ? "The turn reached its limit of model calls." : error;
}

/** Why the last turn failed, if nothing was stored since. @param {any} state */
function failureOf({ turnRunning, lastTurn, position }) {
  return turnRunning || !lastTurn || lastTurn.revision !== position.entries ? null : textOfEnd(lastTurn);
}

/** @param {Draft} draft @param {any} delta */
function applyDelta(draft, delta) {
  const block = /** @type {any} */ (draft.blocks[delta.block]);
  switch (delta.type) {
    case "text_start":
      draft.blocks[delta.block] = { type: "text", text: "" };
      break;
    case "text_delta":
      if (block?.type === "text") block.text += delta.delta;
      else draft.blocks[delta.block] = { type: "text", text: delta.delta };
      break;
    case "thinking_start":
      draft.blocks[delta.block] = { type: "thinking", thinking: "" };
      break;
    case "thinking_delta":
      if (block?.type === "thinking") block.thinking += delta.delta;
      else draft.blocks[delta.block] = { type: "thinking", thinking: delta.delta };
      break;
    case "toolcall_start":
      draft.blocks[delta.block] = { type: "toolCall", id: delta.id, name: delta.name, arguments: null, json: "" };
      break;
    case "toolcall_delta":
      if (block?.type === "toolCall") block.json += delta.delta;
      break;
    case "toolcall_end":
      if (block?.type === "toolCall") block.arguments = parsed(block.json);
      break;
  }
}

/** @param {string} json */
function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}
