// @ts-check
// What can be done with an entry, a branch or the session, as menus.

import { openComparison } from "./compare.js";
import { EngineError } from "./connection.js";
import { viewItems } from "./controls.js";
import { askDialog } from "./dialog.js";
import { announce, byId, copyToClipboard } from "./dom.js";
import { showExplore, startExplore } from "./explore.js";
import { showKeys } from "./keys.js";
import { LiveSession } from "./live_session.js";
import { openMenu } from "./menu.js";
import { addressOf } from "./view.js";

/** @typedef {import("./state.js").Row} Row */

export class Actions {
  /**
   * @param {LiveSession} session
   * @param {{ setPrompt: (text: string, images: any[]) => void, returnPrompts: (prompts: any[]) => void, openFork: (target: object) => void, show: (id: string) => void, showEnd: () => void, openSession: (id: string) => void, leave: () => void, print: () => void }} page
   */
  constructor(session, page) {
    this.session = session;
    this.page = page;
    /** @type {string | null} The first of two branches to compare. */
    this.comparedId = null;
    byId("session-actions").addEventListener("click", (event) => this.openSessionMenu(/** @type {Element} */ (event.currentTarget)));
  }

  /** Shows errors. @param {() => Promise<string | void>} work The text to show when it is done. */
  async run(work) {
    try {
      const done = await work();
      if (done) announce(done);
    } catch (error) {
      const { code, message } = /** @type {EngineError} */ (error);
      announce(code === "session_busy" ? "A turn is running. Stop it first." : message);
    }
    this.session.readStatus();
  }

  /** @param {import("./live_session.js").EngineCommand} command @param {string} done */
  send(command, done) {
    return this.run(async () => {
      const reply = await this.session.send(command);
      return reply.type === "cancelled" ? "A hook refused" : done;
    });
  }

  /** @param {string} id @param {Element} anchor */
  openEntryMenu(id, anchor) {
    const { store } = this.session;
    const row = store.entry(id);
    if (!row) return;
    const index = /** @type {number} */ (store.entryById.get(id));
    const isDeleted = store.deleted.has(index);
    const isOnPath = store.pathTo(store.leafIndex()).includes(index);
    const isUser = row.type === "message" && row.role === "user";
    const reading = [
      { name: "Copy the text", run: () => this.copyText(id) },
      { name: "Copy a link", run: () => this.copyLink(id) },
      null,
      { name: "Compare with the current branch", run: () => this.compare(this.tipOf(id), store.sessionMeta.leafEntryId), disabled: isOnPath },
      this.comparedId && this.comparedId !== id
        ? { name: "Compare with the chosen entry", run: () => this.compare(/** @type {string} */ (this.comparedId), id) }
        : { name: "Choose for a comparison", run: () => this.choose(id) },
    ];
    if (this.session.connection.isReadOnly) return openMenu(reading, anchor);
    openMenu(
      [
        { name: isUser ? "Edit and continue from here" : "Move here", run: () => this.move(id, {}) },
        { name: "Move here and summarize…", run: () => this.moveWithSummary(id) },
        ...(isUser ? [{ name: "Move here, keep the message", run: () => this.move(id, { exact: true }) }] : []),
        { name: "Fork from here", run: () => this.fork(id) },
        null,
        { name: store.labelsByEntryId.has(id) ? "Change the label…" : "Label…", hint: "l", run: () => this.label(id) },
        ...reading,
        { name: "Bring its conclusion here", run: () => this.graft(id, false), disabled: isOnPath },
        { name: "Bring a summary of it here…", run: () => this.graft(id, true), disabled: isOnPath },
        null,
        isDeleted
          ? { name: "Restore the branch", run: () => this.send({ type: "restore_branch", entry: id }, "Restored") }
          : { name: "Delete the branch…", run: () => this.deleteBranch(id), isDangerous: true },
      ],
      anchor,
    );
  }

  /** @param {Element} anchor */
  openSessionMenu(anchor) {
    const { store } = this.session;
    const hasTries = store.entries.some((row) => row.type === "explore_try");
    const hasCompaction = store.visibleEntries.some((row) => row.type === "compaction");
    const reading = [
      ...viewItems(store),
      null,
      { name: "Print…", hint: "Ctrl+P", run: () => this.page.print() },
      { name: "Download as HTML", run: () => this.download("html") },
      { name: "Download as Markdown", run: () => this.download("md") },
      { name: "Download as JSONL", run: () => this.download("jsonl") },
    ];
    if (this.session.connection.isReadOnly) return openMenu(reading, anchor);
    openMenu(
      [
        { name: "Undo the last move", run: () => this.step("undo") },
        { name: "Redo", run: () => this.step("redo"), disabled: !store.mayRedo() },
        null,
        { name: "Compact the context…", run: () => this.compact() },
        { name: "Undo the compaction", run: () => this.step("undo_compaction"), disabled: !hasCompaction },
        { name: "Continue the unfinished turn", run: () => this.send({ type: "resume" }, "Continued"), disabled: store.turnRunning || !store.unfinishedTurn },
        null,
        { name: "Explore a prompt…", run: () => this.run(() => startExplore(this.session, this.page)), disabled: store.turnRunning },
        { name: "Show the tries", run: () => this.run(() => showExplore(this.session, this.page)), disabled: !hasTries },
        null,
        { name: "Rename…", run: () => this.rename() },
        { name: "Fork", run: () => this.page.openFork({ target: "fork", session: store.info.session, position: "current" }) },
        null,
        ...reading,
        null,
        { name: "Keys", hint: "?", run: () => void showKeys() },
        { name: "Delete the session…", run: () => this.deleteSession(), isDangerous: true },
      ],
      anchor,
    );
  }

  /** @param {string} id @param {object} options */
  move(id, options) {
    return this.run(async () => {
      const reply = await this.session.move(id, options);
      return this.showMove(reply);
    });
  }

  /** @param {any} reply */
  showMove(reply) {
    if (reply.cancelled) return "Canceled";
    this.page.showEnd();
    if (reply.editorText !== undefined) this.page.setPrompt(reply.typedText ?? reply.editorText, reply.editorImages ?? []);
    if (reply.returned?.length > 0) this.page.returnPrompts(reply.returned);
    return "Moved";
  }

  /** @param {string} id */
  async moveWithSummary(id) {
    const answer = await askDialog({
      title: "Summarize the branch you are leaving?",
      text: "A model writes a summary and adds it at the new position.",
      fields: [{ name: "instructions", label: "Extra instructions (optional)", isLong: true }],
      action: "Move and summarize",
    });
    if (answer) await this.move(id, { summarize: true, customInstructions: answer["instructions"] || null });
  }

  /** @param {"undo" | "redo" | "undo_compaction"} type */
  step(type) {
    return this.run(async () => this.showMove(await this.session.send({ type })));
  }

  /** @param {string} id */
  fork(id) {
    this.page.openFork({ target: "fork", session: this.session.store.info.session, position: "entry", entryId: id });
  }

  /** @param {string} id */
  async label(id) {
    const value = this.session.store.labelsByEntryId.get(id) ?? "";
    const answer = await askDialog({ title: "Label", fields: [{ name: "label", label: "Label; empty removes it", value }], action: "Save" });
    if (answer) await this.setLabel(id, answer["label"]);
  }

  /** @param {string} id @param {string} text */
  setLabel(id, text) {
    return this.send({ type: "label", entry: id, label: text.trim() || null }, text.trim() ? "Labeled" : "Removed the label");
  }

  /** @param {string} id */
  copyText(id) {
    return this.run(async () => {
      const answer = await this.session.query({ type: "entry", id });
      await copyToClipboard(answer.text);
      return "Copied";
    });
  }

  /** @param {string} id */
  copyLink(id) {
    return this.run(async () => {
      await copyToClipboard(entryLink(this.session.store.sessionMeta.sessionId, id));
      return "Copied the link";
    });
  }

  /** @param {string} id */
  choose(id) {
    this.comparedId = id;
    announce("Choose the other entry from its menu");
  }

  /** The end of the branch through an entry, as the page shows it. @param {string} id */
  tipOf(id) {
    const { store } = this.session;
    return store.entries[store.newestBelow(/** @type {number} */ (store.entryById.get(id)))].id;
  }

  /** @param {string} left @param {string | null} right */
  compare(left, right) {
    return this.run(async () => {
      this.comparedId = null;
      await openComparison(this.session, left, right ?? "root", (id) => this.page.show(id));
    });
  }

  /** @param {string} id @param {boolean} summarize */
  async graft(id, summarize) {
    const tip = this.tipOf(id);
    let instructions = null;
    if (summarize) {
      const fields = [{ name: "instructions", label: "Extra instructions (optional)", isLong: true }];
      const answer = await askDialog({ title: "Summarize the branch and add the summary here?", fields, action: "Summarize" });
      if (!answer) return;
      instructions = answer["instructions"] || null;
    }
    // It goes to the leaf, and the user sees it there.
    this.page.showEnd();
    await this.send({ type: "graft", tip, summarize, instructions }, "Added the conclusion of the branch");
  }

  /** @param {string} id */
  async deleteBranch(id) {
    const answer = await askDialog({
      title: "Delete the branch?",
      text: "The entry and everything below it are hidden. You can restore them: choose the filter “All entries”.",
      action: "Delete the branch",
      isDangerous: true,
    });
    if (answer) await this.send({ type: "delete_branch", entry: id }, "Deleted the branch");
  }

  async compact() {
    const fields = [{ name: "focus", label: "What to keep in mind (optional)", isLong: true }];
    const text = "A summary replaces the older part of the conversation in the context. The conversation itself stays.";
    const answer = await askDialog({ title: "Compact the context?", text, fields, action: "Compact" });
    if (answer) await this.send({ type: "compact", focus: answer["focus"] || null }, "Compacted");
  }

  async rename() {
    const value = this.session.store.status?.name ?? "";
    const answer = await askDialog({ title: "Rename the session", fields: [{ name: "name", label: "Name", value }], action: "Rename" });
    if (answer) await this.send({ type: "rename", name: answer["name"] }, "Renamed");
  }

  /** @param {string} format */
  download(format) {
    const { sessionId } = this.session.store.sessionMeta;
    const link = document.createElement("a");
    link.href = `/api/sessions/${encodeURIComponent(sessionId)}/export?format=${format}&store=${encodeURIComponent(this.session.store.info.session.store)}`;
    link.download = "";
    link.click();
  }

  async deleteSession() {
    const { info } = this.session.store;
    const answer = await askDialog({ title: "Delete this session?", text: "It is removed from its store. This cannot be undone.", action: "Delete", isDangerous: true });
    if (!answer) return;
    await this.run(async () => {
      const { connection } = this.session;
      this.session.close();
      try {
        await connection.deleteSession(info.session);
      } finally {
        this.page.leave();
      }
      return "Deleted";
    });
  }
}

/** The address of an entry. @param {string} sessionId @param {string} [entryId] */
export function entryLink(sessionId, entryId) {
  return addressOf(sessionId, { entry: entryId ?? null });
}
