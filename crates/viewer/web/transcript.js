// @ts-check
// Draws the conversation along the shown path. Entries are drawn in groups when they come near the view, and groups far from
// it are removed again, so a path of a hundred thousand entries costs no more than a short one.

import { Delegations, linkSessions, mergeTasks, showPanels } from "./delegation.js";
import { byId, element, fragment } from "./dom.js";
import { authorOf, drawMenuButton, drawSwitch, drawTime } from "./entry_parts.js";
import { SessionStore } from "./state.js";
import { kindClass } from "./tree.js";

/** @typedef {import("./state.js").Row} Row */

/**
 * @typedef {Object} LiveTranscript
 * @property {(ids: string[]) => Promise<void>} load Makes bodies known.
 * @property {(id: string) => string} link The address of an entry.
 * @property {(sessionId: string) => string} sessionLink The address of a session.
 * @property {(card: Element, panels: import("./state.js").TaskPanel[]) => void} showTaskActions Shows what can be done with the tasks of a batch.
 * @property {() => HTMLElement} drawEmpty What an empty session shows.
 */

const GROUP = 30;
const MAX_GROUPS = 24;
/** The expected height of an entry, until it is drawn, and of all entries together: browsers limit the height of a page. */
const EXPECTED_HEIGHT = 110;
const MAX_EXPECTED = 15_000_000;
/** The pause before bodies that could not be fetched are tried again, in milliseconds. */
const RETRY_DELAY = 1_000;
/** The most entries that are drawn for a print. */
const MAX_PRINTED = 10_000;
/** The groups whose bodies are fetched together for a print: about as many entries as a request can name. */
const GROUPS_IN_STEP = 3;

export class TranscriptView {
  /**
   * @param {SessionStore} store
   * @param {(index: number) => string | undefined} bodyOf The rendered body of an entry, if it is known.
   * @param {LiveTranscript} [live] What only a live page has.
   */
  constructor(store, bodyOf, live) {
    this.store = store;
    this.bodyOf = bodyOf;
    this.live = live;
    /** @type {Row[]} The entries that the groups are made for. */
    this.shown = [];
    this.root = byId("transcript");
    /** @type {HTMLElement[]} */
    this.groups = [];
    /** @type {Set<HTMLElement>} The groups that are drawn, the one drawn first first. */
    this.drawn = new Set();
    /** @type {Set<HTMLElement>} The groups whose bodies are tried again soon. */
    this.retried = new Set();
    /** @type {Map<string, number>} The position of each entry on the path. */
    this.positions = new Map();
    this.delegations = new Delegations();
    /** @type {Set<string>} The replies with calls that will never get a result. */
    this.interrupted = new Set();
    /** Which folded parts are open: by class. @type {Record<string, boolean | undefined>} */
    this.openParts = {};
    /** Those that the user opened or closed one by one: by `ID:NUMBER`. @type {Map<string, boolean>} */
    this.toggled = new Map();
    /** Whether everything that is drawn stays, because it will be printed. */
    this.isPrinting = false;
    this.observer = new IntersectionObserver((seen) => this.handleSeen(seen), { rootMargin: "1200px 0px" });
    store.subscribe((what, id) => {
      if (what === "path") this.rebuild();
      if (what === "path" || what === "runtime") this.updateInterrupted();
      if (what === "entry" && id) this.redraw(id);
      if (what === "labels") this.updateLabels();
      if (what === "tasks" && id) this.updateTasks(id);
      if (what === "selection") this.markSelection();
    });
    this.root.addEventListener("click", (event) => this.handleClick(event));
    this.connectPrint();
  }

  /** Shows the entries of the path. Groups that stay the same are not touched. */
  rebuild() {
    const entries = this.store.visibleEntries;
    const same = commonLength(this.shown, entries);
    for (const entry of this.shown.slice(same)) this.positions.delete(entry.id);
    for (let at = same; at < entries.length; at++) this.positions.set(entries[at].id, at);
    this.shown = entries;
    const outdated = this.readDelegations();
    const kept = Math.floor(same / GROUP);
    const partial = same % GROUP > 0 ? this.groups[kept] : undefined;
    for (const group of this.groups.splice(partial ? kept + 1 : kept)) this.removeGroup(group);
    if (partial) this.updateGroup(partial, same % GROUP);
    for (let first = this.groups.length * GROUP; first < entries.length; first += GROUP) this.addGroup(first);
    for (const id of outdated) this.redraw(id);
    this.root.querySelector(":scope > :is(.notice, .empty)")?.remove();
    if (this.groups.length === 0) this.root.append(this.live?.drawEmpty() ?? element("p", { class: "notice" }, "No messages yet"));
  }

  /** Finds the results of batches. Returns the batches whose results came or went: another entry shows them now. */
  readDelegations() {
    const before = new Map(this.delegations.resultOf);
    this.delegations.read(this.shown, (id) => this.store.batchIdOf(id));
    const { resultOf } = this.delegations;
    return [...new Set([...before.keys(), ...resultOf.keys()])].filter((id) => before.get(id)?.id !== resultOf.get(id)?.id);
  }

  /** @param {number} first */
  addGroup(first) {
    const group = element("section", { class: "group", "data-first": first });
    const number = Math.min(GROUP, this.shown.length - first);
    group.style.minHeight = `${number * Math.min(EXPECTED_HEIGHT, MAX_EXPECTED / this.shown.length)}px`;
    this.groups.push(group);
    this.root.append(group);
    // New entries at the end are drawn in the same frame, so that nothing jumps. So is the end of a session that is opened.
    const isFirst = this.drawn.size === 0 && first + GROUP >= this.shown.length;
    if (this.live && (isFirst || (number < 4 && this.groups.length > 1))) this.drawGroup(group, true);
    this.observer.observe(group);
  }

  /** @param {HTMLElement} group */
  removeGroup(group) {
    this.observer.unobserve(group);
    this.drawn.delete(group);
    group.remove();
  }

  /** Replaces the entries of a group after the first ones. @param {HTMLElement} group @param {number} same */
  updateGroup(group, same) {
    const first = Number(group.dataset["first"]);
    const entries = this.shown.slice(first, first + GROUP);
    if (!this.drawn.has(group)) {
      group.style.minHeight = `${entries.length * EXPECTED_HEIGHT}px`;
      return;
    }
    while (group.childNodes.length > same) group.lastChild?.remove();
    group.append(...entries.slice(same).map((entry) => this.drawEntry(entry)));
    this.loadMissing(group);
  }

  /** @param {IntersectionObserverEntry[]} seen */
  handleSeen(seen) {
    for (const { isIntersecting, target } of seen) {
      if (isIntersecting) this.drawGroup(/** @type {HTMLElement} */ (target), true);
    }
  }

  /** @param {HTMLElement} group @param {boolean} mayRemove */
  drawGroup(group, mayRemove) {
    if (this.drawn.delete(group)) {
      this.drawn.add(group);
      return;
    }
    const first = Number(group.dataset["first"]);
    const entries = this.store.visibleEntries.slice(first, first + GROUP);
    group.replaceChildren(...entries.map((entry) => this.drawEntry(entry)));
    group.style.minHeight = "";
    this.drawn.add(group);
    this.loadMissing(group);
    if (mayRemove && !this.isPrinting && this.drawn.size > MAX_GROUPS) this.removeOldest();
  }

  /** Draws the entries of a group whose bodies were not known. @param {HTMLElement} group */
  async loadMissing(group) {
    const missing = [...group.querySelectorAll(".entry:has(> .body.loading)")];
    if (missing.length === 0 || !this.live) return;
    const ids = missing.map((entry) => entry.getAttribute("data-id") ?? "");
    try {
      await this.live.load([...ids, ...ids.flatMap((id) => [...this.delegations.neededFor(id), ...this.neededForCalls(id)])]);
    } catch {
      return this.loadLater(group);
    }
    // The bodies may tell which results belong to which batch.
    if (this.delegations.unclear.size > 0) for (const id of this.readDelegations()) this.redraw(id);
    for (const entry of missing) {
      const row = this.store.entry(entry.getAttribute("data-id") ?? "");
      // The element stays, so that the browser keeps the scroll position.
      if (row && entry.isConnected) entry.replaceChildren(...this.drawEntry(row).childNodes);
    }
  }

  /** The connection may be lost, and come back. @param {HTMLElement} group */
  loadLater(group) {
    if (this.retried.has(group)) return;
    this.retried.add(group);
    setTimeout(() => {
      this.retried.delete(group);
      if (group.isConnected) this.loadMissing(group);
    }, RETRY_DELAY);
  }

  /** Draws an entry again, if it is drawn. @param {string} id */
  redraw(id) {
    const row = this.store.entry(id);
    const drawn = document.getElementById(`entry-${id}`);
    if (!row || !drawn) return;
    const made = this.drawEntry(row);
    drawn.replaceWith(made);
    const group = made.closest("section");
    if (group) this.loadMissing(group);
  }

  /** The state of tasks changed. @param {string} id The entry of their batch. */
  updateTasks(id) {
    const drawn = document.getElementById(`entry-${id}`);
    if (drawn && !this.delegations.resultOf.has(id)) this.finishBatch(id, drawn);
  }

  /** @param {string} id The entry that shows a batch. @param {Element} card */
  finishBatch(id, card) {
    const panels = this.store.subagentRuntime(id)?.panels ?? [];
    if (!this.delegations.batchOf.has(id)) showPanels(card, panels);
    if (!this.live) return;
    linkSessions(card, this.live.sessionLink);
    this.live.showTaskActions(card, panels);
  }

  updateLabels() {
    for (const entry of this.root.querySelectorAll(".entry")) {
      const label = this.store.labelsByEntryId.get(entry.getAttribute("data-id") ?? "") ?? "";
      if ((entry.querySelector(".entry-header .label")?.textContent ?? "") !== label) this.redraw(entry.getAttribute("data-id") ?? "");
    }
  }

  /** Replaces the group that was in view longest ago with an empty one of the same height. */
  removeOldest() {
    const [oldest] = this.drawn;
    this.drawn.delete(oldest);
    oldest.style.minHeight = `${oldest.offsetHeight}px`;
    oldest.replaceChildren();
  }

  /** @param {Row} entry */
  drawEntry(entry) {
    const index = /** @type {number} */ (this.store.entryById.get(entry.id));
    const isSelected = entry.id === this.store.selectedEntryId;
    const batch = this.delegations.batchOf.get(entry.id);
    const batchHtml = batch && this.bodyOf(/** @type {number} */ (this.store.entryById.get(batch.id)));
    const answers = this.findInterrupted(entry) ? this.answersOf(entry).rows.map((row) => this.bodyOf(/** @type {number} */ (this.store.entryById.get(row.id)))) : [];
    const html = (batch && batchHtml === undefined) || answers.includes(undefined) ? undefined : this.bodyOf(index);
    const body = element("div", { class: html === undefined ? "body loading" : "body" }, fragment(html ?? ""));
    if (batchHtml !== undefined) mergeTasks(body, fragment(batchHtml));
    if (this.interrupted.has(entry.id)) markInterrupted(body, answers.map((answer) => fragment(answer ?? "")));
    if (entry.type === "subagent_batch" || batch) this.finishBatch(entry.id, body);
    for (const [part, isOpen] of Object.entries(this.openParts)) setOpen(body, part, isOpen === true);
    this.openToggled(entry.id, body);
    for (const figure of body.querySelectorAll("figure.code")) {
      figure.append(element("button", { class: "copy", type: "button" }, "Copy"));
    }
    const classes = ["entry", kindClass(entry), isSelected && "selected", this.followsItsCall(entry) && "follows-call", this.delegations.resultOf.has(entry.id) && "merged"];
    return element(
      "article",
      { class: classes.filter(Boolean).join(" "), id: `entry-${entry.id}`, "data-id": entry.id, tabindex: -1, "aria-label": authorOf(entry) || null },
      this.drawHeader(entry, index, body),
      body,
    );
  }

  /** The results of the calls of a reply, and whether more of them may come below. @param {Row} reply */
  answersOf(reply) {
    const path = this.store.visibleEntries;
    /** @type {Row[]} */
    const rows = [];
    for (let at = (this.positions.get(reply.id) ?? path.length) + 1; at < path.length; at++) {
      if (path[at].role === "assistant") return { rows, isOver: true };
      if (path[at].role === "toolResult") rows.push(path[at]);
    }
    return { rows, isOver: false };
  }

  /** Finds out whether a reply has calls that will never get a result. After an interruption, a turn continues below them. @param {Row} reply */
  findInterrupted(reply) {
    const calls = reply.role === "assistant" ? reply.calls ?? 0 : 0;
    const { rows, isOver } = calls > 0 ? this.answersOf(reply) : { rows: [], isOver: true };
    const mayCome = !isOver && this.store.mayContinue() && !this.interrupted.has(reply.id);
    const isInterrupted = rows.length < calls && !mayCome;
    this.interrupted[isInterrupted ? "add" : "delete"](reply.id);
    return isInterrupted;
  }

  /** A turn ended, or late results came: other replies may be interrupted now. */
  updateInterrupted() {
    const last = this.shown.findLast((row) => row.role === "assistant");
    for (const id of new Set([...this.interrupted, ...(last ? [last.id] : [])])) {
      const reply = this.positions.has(id) ? this.store.entry(id) : undefined;
      const before = this.interrupted.has(id);
      if (!reply) this.interrupted.delete(id);
      else if (this.findInterrupted(reply) !== before) this.redraw(id);
    }
  }

  /** The results that must be known to draw a reply. @param {string} id */
  neededForCalls(id) {
    const reply = this.interrupted.has(id) ? this.store.entry(id) : undefined;
    return reply ? this.answersOf(reply).rows.map((row) => row.id) : [];
  }

  /** Whether an entry is the result of the call or of the sub-agents right above it, so that it needs no title. @param {Row} entry */
  followsItsCall(entry) {
    const above = this.store.visibleEntries[(this.positions.get(entry.id) ?? 0) - 1];
    return entry.role === "toolResult" && ((above?.role === "assistant" && above.calls === 1) || above?.type === "subagent_result");
  }

  /** @param {Row} entry @param {number} index @param {Element} body */
  drawHeader(entry, index, body) {
    const header = element("header", { class: "entry-header" }, element("span", { class: "who" }, authorOf(entry)));
    const batch = this.store.subagentRuntime(entry.id);
    if (batch?.status) header.append(element("span", { class: "batch-status", "data-status": batch.status }, batch.status));
    const label = this.store.labelsByEntryId.get(entry.id);
    if (label) header.append(element("span", { class: "label", dir: "auto" }, label));
    const origin = body.querySelector(".origin");
    if (origin) header.append(origin);
    for (const start of this.startsAt(entry, index)) {
      const others = this.store.alternatives(start);
      if (others.length > 1) header.append(drawSwitch(this.store, others, others.indexOf(start)));
    }
    const href = this.live?.link(entry.id) ?? `#entry=${encodeURIComponent(entry.id)}`;
    const link = element("a", { class: "permalink", href, title: "Link to this entry" });
    link.append(drawTime(entry.timestamp));
    header.append(link);
    if (this.live) header.append(drawMenuButton());
    return header;
  }

  /** An entry, and those right above it whose own header nobody sees: where branches start there, its header leads to the others. @param {Row} entry @param {number} index */
  startsAt(entry, index) {
    const starts = [index];
    const path = this.store.visibleEntries;
    for (let at = (this.positions.get(entry.id) ?? 0) - 1; at >= 0 && this.hidesHeader(path[at]); at--) {
      starts.unshift(/** @type {number} */ (this.store.entryById.get(path[at].id)));
    }
    return starts;
  }

  /** Whether the style hides the header of an entry. @param {Row} entry */
  hidesHeader(entry) {
    return entry.role === "system" || entry.type === "model_change" || entry.type === "thinking_level_change" || this.delegations.resultOf.has(entry.id);
  }

  /** Draws an entry and moves it into view. @param {string} id */
  async scrollTo(id) {
    const at = this.nearestPosition(id);
    if (at < 0) return;
    const group = Math.floor(at / GROUP);
    // With the bodies the heights are known, and the entry stays where it is scrolled to.
    await this.live?.load(this.shown.slice(Math.max(0, group - 1) * GROUP, (group + 2) * GROUP).map((entry) => entry.id)).catch(() => {});
    for (const near of [group - 1, group + 1, group]) {
      if (this.groups[near]) this.drawGroup(this.groups[near], true);
    }
    const target = document.getElementById(`entry-${this.store.visibleEntries[at].id}`);
    target?.scrollIntoView({ block: "start" });
    // A text field keeps the focus: the user may be typing.
    if (!document.activeElement?.matches("input, select, textarea")) target?.focus({ preventScroll: true });
  }

  /** The position of an entry, or of the nearest one above it that is shown. @param {string} id */
  nearestPosition(id) {
    let index = this.store.entryById.get(id) ?? -1;
    while (index >= 0 && !this.positions.has(this.store.entries[index].id)) index = this.store.parentIndex(index);
    return index < 0 ? -1 : /** @type {number} */ (this.positions.get(this.store.entries[index].id));
  }

  markSelection() {
    for (const entry of this.root.querySelectorAll(".entry.selected")) entry.classList.remove("selected");
    const at = this.nearestPosition(this.store.selectedEntryId ?? "");
    const selected = at < 0 ? null : document.getElementById(`entry-${this.store.visibleEntries[at].id}`);
    selected?.classList.add("selected");
  }

  /** Opens or closes all parts of a class. @param {string} part @param {boolean} isOpen */
  openAll(part, isOpen) {
    this.openParts[part] = isOpen;
    this.toggled.clear();
    setOpen(this.root, part, isOpen);
    this.store.notify("view");
  }

  /** Brings single parts to where the user had them. @param {Map<string, boolean>} toggled */
  setToggled(toggled) {
    this.toggled = toggled;
    for (const entry of this.root.querySelectorAll(".entry")) this.openToggled(entry.getAttribute("data-id") ?? "", entry);
  }

  /** @param {string} id @param {Element} drawn */
  openToggled(id, drawn) {
    if (this.toggled.size === 0) return;
    for (const [at, part] of drawn.querySelectorAll("details").entries()) {
      const isOpen = this.toggled.get(`${id}:${at}`);
      if (isOpen !== undefined) part.open = isOpen;
    }
  }

  /** The user opens or closes a part. @param {HTMLDetailsElement} part */
  noteToggle(part) {
    const entry = part.closest(".entry");
    const at = [...(entry?.querySelectorAll("details") ?? [])].indexOf(part);
    this.toggled.set(`${entry?.getAttribute("data-id")}:${at}`, !part.open);
    this.store.notify("view");
  }

  /** The groups that are printed: all, or as many as a print can have, from the one at the top of the view on. */
  printedGroups() {
    const most = Math.floor(MAX_PRINTED / GROUP);
    const inView = Math.max(0, this.groups.findIndex((group) => group.getBoundingClientRect().bottom > 0));
    const first = Math.min(inView, Math.max(0, this.groups.length - most));
    return this.groups.slice(first, first + most);
  }

  /**
   * Fetches and draws what is printed. Returns false if something else is shown meanwhile.
   * @param {(done: number, all: number) => void} onProgress
   */
  async preparePrint(onProgress) {
    this.isPrinting = true;
    try {
      this.isPrinting = await this.drawPrinted(this.printedGroups(), onProgress);
    } catch (error) {
      this.isPrinting = false;
      throw error;
    }
    return this.isPrinting;
  }

  /** @param {HTMLElement[]} groups @param {(done: number, all: number) => void} onProgress */
  async drawPrinted(groups, onProgress) {
    const { shown } = this;
    for (let at = 0; at < groups.length; at += GROUPS_IN_STEP) {
      const step = groups.slice(at, at + GROUPS_IN_STEP);
      onProgress(at * GROUP, groups.length * GROUP);
      const first = Number(step[0].dataset["first"]);
      await this.live?.load(shown.slice(first, first + step.length * GROUP).map((entry) => entry.id));
      if (this.shown !== shown) return false;
      for (const group of step) this.drawGroup(group, false);
      await Promise.all(step.map((group) => this.loadMissing(group)));
    }
    return this.shown === shown;
  }

  /** Draws what is printed. On a live page, `preparePrint` has fetched it, unless the user chose to print in the browser's own menu. */
  connectPrint() {
    const note = element("p", { class: "print-note notice" });
    addEventListener("beforeprint", () => {
      const printed = this.printedGroups();
      printed.forEach((group) => this.drawGroup(group, false));
      for (const group of this.groups) group.classList.toggle("not-printed", !printed.includes(group));
      const first = Number(printed[0]?.dataset["first"] ?? 0);
      const last = Math.min(this.shown.length, first + printed.length * GROUP);
      const isPart = printed.length < this.groups.length;
      const isMissing = this.root.querySelector(".entry > .body.loading") !== null;
      note.textContent = [
        isPart ? `Entries ${first + 1} to ${last} of ${this.shown.length}. Scroll elsewhere to print others, or export the session as Markdown.` : "",
        isMissing ? "Some entries were not read yet. Print with Ctrl+P in the page, or with “Print…” in the menu “More”." : "",
      ].join(" ").trim();
      if (note.textContent) this.root.prepend(note);
    });
    addEventListener("afterprint", () => {
      note.remove();
      this.isPrinting = false;
      while (this.drawn.size > MAX_GROUPS) this.removeOldest();
    });
  }

  /** @param {MouseEvent} event */
  handleClick(event) {
    const target = /** @type {Element} */ (event.target);
    const part = target.closest("summary")?.parentElement;
    if (part instanceof HTMLDetailsElement) this.noteToggle(part);
    const other = target.closest("[data-show]")?.getAttribute("data-show");
    if (other) {
      this.store.select(other);
      this.scrollTo(other);
    }
  }
}

/** @param {Element} root @param {string} part @param {boolean} isOpen */
function setOpen(root, part, isOpen) {
  for (const details of root.querySelectorAll(`details.${part}`)) details.toggleAttribute("open", isOpen);
}

/** Says of calls without a result that they were interrupted. @param {Element} body @param {DocumentFragment[]} answers */
function markInterrupted(body, answers) {
  const answered = new Set(answers.flatMap((answer) => [...answer.querySelectorAll(".result")].map((result) => result.getAttribute("data-call"))));
  for (const call of body.querySelectorAll(".call")) {
    if (!answered.has(call.getAttribute("data-call"))) call.append(element("p", { class: "notice interrupted" }, "interrupted, no result"));
  }
}

/** How many entries two paths have in common. @param {Row[]} left @param {Row[]} right */
function commonLength(left, right) {
  const most = Math.min(left.length, right.length);
  let same = 0;
  while (same < most && left[same].id === right[same].id) same++;
  return same;
}
