// @ts-check
// Draws the conversation along the shown path. Entries are drawn in groups when they come near the view, and groups far from
// it are removed again, so a path of a hundred thousand entries costs no more than a short one.

import { announce, byId, element, fragment } from "./dom.js";
import { SessionStore } from "./state.js";
import { kindClass } from "./tree.js";

/** @typedef {import("./state.js").Row} Row */

const GROUP = 30;
const MAX_GROUPS = 24;
/** The expected height of an entry, until it is drawn. */
const EXPECTED_HEIGHT = 110;

export class TranscriptView {
  /**
   * @param {SessionStore} store
   * @param {(index: number) => string} bodyOf The rendered body of an entry.
   */
  constructor(store, bodyOf) {
    this.store = store;
    this.bodyOf = bodyOf;
    this.root = byId("transcript");
    /** @type {HTMLElement[]} */
    this.groups = [];
    /** @type {Set<HTMLElement>} The groups that are drawn, the one drawn first first. */
    this.drawn = new Set();
    /** @type {Map<string, number>} The position of each entry on the path. */
    this.positions = new Map();
    /** Which folded parts are open: by class. @type {Record<string, boolean | undefined>} */
    this.openParts = {};
    this.observer = new IntersectionObserver((seen) => this.handleSeen(seen), { rootMargin: "1200px 0px" });
    store.subscribe((what) => {
      if (what === "path") this.rebuild();
      if (what === "selection") this.markSelection();
    });
    this.root.addEventListener("click", (event) => this.handleClick(event));
    addEventListener("beforeprint", () => this.groups.forEach((group) => this.drawGroup(group, false)));
  }

  rebuild() {
    this.observer.disconnect();
    this.drawn.clear();
    const entries = this.store.visibleEntries;
    this.positions = new Map(entries.map((entry, at) => [entry.id, at]));
    this.groups = [];
    for (let first = 0; first < entries.length; first += GROUP) {
      const group = element("section", { class: "group", "data-first": first });
      group.style.minHeight = `${Math.min(GROUP, entries.length - first) * EXPECTED_HEIGHT}px`;
      this.groups.push(group);
    }
    const empty = element("p", { class: "notice" }, "No messages yet");
    this.root.replaceChildren(...(this.groups.length > 0 ? this.groups : [empty]));
    this.groups.forEach((group) => this.observer.observe(group));
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
    if (mayRemove && this.drawn.size > MAX_GROUPS) this.removeOldest();
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
    const body = element("div", { class: "body" }, fragment(this.bodyOf(index)));
    for (const [part, isOpen] of Object.entries(this.openParts)) setOpen(body, part, isOpen === true);
    for (const figure of body.querySelectorAll("figure.code")) {
      figure.append(element("button", { class: "copy", type: "button" }, "Copy"));
    }
    return element(
      "article",
      { class: `entry ${kindClass(entry)}${isSelected ? " selected" : ""}`, id: `entry-${entry.id}`, "data-id": entry.id, tabindex: -1 },
      this.drawHeader(entry, index, body),
      body,
    );
  }

  /** @param {Row} entry @param {number} index @param {Element} body */
  drawHeader(entry, index, body) {
    const header = element("header", { class: "entry-header" }, element("span", { class: "who" }, authorOf(entry)));
    const label = this.store.labelsByEntryId.get(entry.id);
    if (label) header.append(element("span", { class: "label", dir: "auto" }, label));
    const others = this.store.alternatives(index);
    const origin = body.querySelector(".origin");
    if (origin) header.append(origin);
    if (others.length > 1) header.append(drawSwitch(this.store, others, others.indexOf(index)));
    const link = element("a", { class: "permalink", href: `#entry=${encodeURIComponent(entry.id)}`, title: "Link to this entry" });
    link.append(drawTime(entry.timestamp));
    header.append(link);
    return header;
  }

  /** Draws an entry and moves it into view. @param {string} id */
  scrollTo(id) {
    const at = this.nearestPosition(id);
    if (at < 0) return;
    const group = Math.floor(at / GROUP);
    for (const near of [group - 1, group + 1, group]) {
      if (this.groups[near]) this.drawGroup(this.groups[near], true);
    }
    const target = document.getElementById(`entry-${this.store.visibleEntries[at].id}`);
    target?.scrollIntoView({ block: "start" });
    target?.focus({ preventScroll: true });
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
    setOpen(this.root, part, isOpen);
  }

  /** @param {MouseEvent} event */
  handleClick(event) {
    const target = /** @type {Element} */ (event.target);
    const other = target.closest("[data-show]")?.getAttribute("data-show");
    if (other) {
      this.store.select(other);
      this.scrollTo(other);
    }
    if (target.matches("button.copy")) copyCode(target);
  }
}

/** @param {Element} root @param {string} part @param {boolean} isOpen */
function setOpen(root, part, isOpen) {
  for (const details of root.querySelectorAll(`details.${part}`)) details.toggleAttribute("open", isOpen);
}

/** @param {Element} button */
async function copyCode(button) {
  const code = [...(button.parentElement?.querySelectorAll("code") ?? [])].map((part) => part.textContent).join("\n");
  try {
    await navigator.clipboard.writeText(code);
    announce("Copied");
  } catch {
    announce("Cannot copy: the browser does not allow it here");
  }
}

/** @type {Record<string, string>} */
const AUTHORS = {
  user: "You",
  assistant: "Assistant",
  toolResult: "Result",
  bashExecution: "Command",
  custom: "Extension",
  system: "System prompt",
  custom_message: "Extension",
  compaction: "Compaction",
  branch_summary: "Branch summary",
  backtrack: "Backtrack",
  subagent_batch: "Sub-agents",
  subagent_result: "Sub-agent results",
  model_change: "",
  thinking_level_change: "",
};

/** @param {Row} entry */
function authorOf(entry) {
  return AUTHORS[entry.type === "message" ? entry.role ?? "" : entry.type] ?? "Message";
}

/** @param {string | undefined} timestamp */
function drawTime(timestamp) {
  const date = timestamp ? new Date(timestamp) : null;
  if (!date || Number.isNaN(date.getTime())) return element("span", {}, "#");
  const text = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return element("time", { datetime: timestamp, title: date.toLocaleString() }, text);
}

/** Shows which of several continuations this is, and leads to the others. */
function drawSwitch(/** @type {SessionStore} */ store, /** @type {number[]} */ others, /** @type {number} */ at) {
  const step = (/** @type {number} */ by, /** @type {string} */ sign, /** @type {string} */ name) => {
    const other = others[at + by];
    const id = other === undefined ? null : store.entries[other].id;
    return element("button", { type: "button", "data-show": id, disabled: id === null, "aria-label": name }, sign);
  };
  const text = `${at + 1}/${others.length}`;
  const title = `Branch ${at + 1} of ${others.length}`;
  return element("span", { class: "switch", title }, step(-1, "‹", "Previous branch"), text, step(1, "›", "Next branch"));
}
