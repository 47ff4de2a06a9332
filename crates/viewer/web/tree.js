// @ts-check
// Draws the tree beside the conversation. Only the rows in view are in the document, and scrolling fills the rows that left the
// view with new ones: it makes no elements, and touches no row that stays.

import { byId, element, svg, visibleText } from "./dom.js";
import { branchStarts, outlineRows } from "./outline.js";
import { SessionStore } from "./state.js";

/** @typedef {import("./outline.js").OutlineRow} OutlineRow */

/**
 * A row in the document.
 * @typedef {Object} DrawnRow
 * @property {HTMLElement} root
 * @property {HTMLElement} preview
 * @property {number} top
 */

const ROW_HEIGHT = 28;
const LANE_WIDTH = 14;
/** The middle of the first lane. */
const FIRST_LANE = 16;
/** The colors of lanes; deeper ones have the same again. */
const LANE_COLORS = 5;
/** Deeper lanes are drawn on top of each other. */
const MAX_LANES = 12;
const EXTRA_ROWS = 12;
/** The longest scrollable height; browsers limit it. */
const MAX_HEIGHT = 8_000_000;

export class TreeView {
  /** @param {SessionStore} store @param {(id: string) => void} onSelect */
  constructor(store, onSelect) {
    this.store = store;
    this.onSelect = onSelect;
    this.root = byId("tree");
    this.canvas = byId("rows");
    /** @type {OutlineRow[]} */
    this.rows = [];
    /** The row of each entry; -1 if it is not shown. */
    this.rowByIndex = new Int32Array(0);
    /** @type {DrawnRow[]} The rows in the document, from the one at `first`. */
    this.drawn = [];
    this.first = 0;
    /** Whether the rows in the document may show something old. */
    this.isOutdated = false;
    this.viewHeight = 0;
    /** @type {import("./outline.js").OutlineOptions} */
    this.options = { filter: "default", words: [], folded: new Set() };
    this.cursor = -1;
    this.leaf = -1;
    this.isScheduled = false;
    /** What changed since the last frame. */
    this.mustUpdate = false;
    this.mustReveal = false;
    /** Whether the user scrolled since the selection was moved into view. */
    this.isScrolled = false;
    /** Whether all branches are folded. */
    this.isFolded = false;
    /** While something is edited in a row, nothing is drawn. */
    this.isPaused = false;
    /** @type {import("./overview.js").TreeOverview | null} */
    this.overview = null;
    this.root.addEventListener("scroll", () => this.schedule(), { passive: true });
    for (const kind of ["wheel", "touchmove", "pointerdown"]) {
      this.root.parentElement?.addEventListener(kind, () => this.noteScroll(), { passive: true });
    }
    this.root.addEventListener("click", (event) => this.handleClick(event));
    this.root.addEventListener("keydown", (event) => this.handleKey(event));
    new ResizeObserver(() => {
      this.viewHeight = this.root.clientHeight;
      if (this.overview) this.overview.isOutdated = true;
      this.schedule();
    }).observe(this.root);
    store.subscribe((what) => {
      if (what === "selection") this.mustReveal = true;
      else if (what === "rows" || what === "path" || what === "labels") this.mustUpdate = true;
      else return;
      this.schedule();
    });
  }

  /** Computes the rows again. */
  update() {
    this.mustUpdate = false;
    this.rows = outlineRows(this.store, this.options);
    this.leaf = this.store.leafIndex();
    this.rowByIndex = new Int32Array(this.store.entries.length).fill(-1);
    for (let at = 0; at < this.rows.length; at++) this.rowByIndex[this.rows[at].index] = at;
    this.canvas.style.height = `${this.height()}px`;
    this.showNumber();
    this.cursor = this.selectedRow();
    if (this.overview) this.overview.isOutdated = true;
    this.redraw();
  }

  /** How many entries are shown. It is read aloud while the user searches, and not whenever an entry is added. */
  showNumber() {
    const status = byId("tree-status");
    const total = this.store.entries.length;
    status.ariaLive = this.options.words.length > 0 ? "polite" : "off";
    status.textContent = this.rows.length === 0 ? "No entries" : `${this.rows.length} of ${total} entries`;
  }

  /** Draws all rows in view again. */
  redraw() {
    this.isOutdated = true;
    this.schedule();
  }

  height() {
    return Math.min(this.rows.length * ROW_HEIGHT, MAX_HEIGHT);
  }

  /** The row of an entry; -1 if it is not shown. @param {number} index */
  rowOf(index) {
    return this.rowByIndex[index] ?? -1;
  }

  /** The row of the selected entry, or of its nearest shown ancestor. */
  selectedRow() {
    let index = this.store.entryById.get(this.store.selectedEntryId ?? "") ?? -1;
    while (index >= 0 && this.rowOf(index) < 0) index = this.store.parentIndex(index);
    return this.rowOf(index);
  }

  /** The user scrolls. */
  noteScroll() {
    this.isScrolled = true;
    this.store.notify("view");
  }

  /** The entry at the top of the view, if the user scrolled there. */
  topId() {
    const at = Math.ceil(this.root.scrollTop / (this.offset(1) || 1));
    return this.isScrolled ? this.idAt(at) ?? null : null;
  }

  /** Scrolls to an entry instead of the selection. @param {string} id */
  scrollToEntry(id) {
    if (this.mustUpdate) this.update();
    const row = this.rowOf(this.store.entryById.get(id) ?? -1);
    if (row < 0) return;
    Object.assign(this, { mustReveal: false, isScrolled: true });
    this.cursor = this.selectedRow();
    this.root.scrollTop = this.offset(row);
    this.redraw();
  }

  /** Moves the selection into view. */
  reveal() {
    this.mustReveal = false;
    this.isScrolled = false;
    this.cursor = this.selectedRow();
    this.scrollToCursor();
    this.redraw();
  }

  scrollToCursor() {
    if (this.cursor < 0) return;
    const top = this.offset(this.cursor);
    const { scrollTop, clientHeight } = this.root;
    if (top < scrollTop + ROW_HEIGHT || top + 2 * ROW_HEIGHT > scrollTop + clientHeight) {
      this.root.scrollTop = Math.max(0, top - clientHeight / 2);
    }
  }

  /** The distance of a row from the top. Beyond the highest height, rows are closer together than they are high. */
  offset(/** @type {number} */ row) {
    const scale = this.rows.length * ROW_HEIGHT > MAX_HEIGHT ? MAX_HEIGHT / (this.rows.length * ROW_HEIGHT) : 1;
    return row * ROW_HEIGHT * scale;
  }

  schedule() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      if (this.isPaused) return;
      if (this.viewHeight === 0) this.viewHeight = this.root.clientHeight;
      if (this.mustUpdate) this.update();
      if (this.mustReveal) this.reveal();
      this.draw();
    });
  }

  draw() {
    const { scrollTop } = this.root;
    const scale = Math.max(1, (this.rows.length * ROW_HEIGHT) / MAX_HEIGHT);
    const first = Math.max(0, Math.floor((scrollTop * scale) / ROW_HEIGHT) - EXTRA_ROWS);
    const last = Math.max(first, Math.min(this.rows.length, first + Math.ceil(this.viewHeight / ROW_HEIGHT) + 2 * EXTRA_ROWS));
    const top = Math.max(0, this.offset(Math.min(first + EXTRA_ROWS, last)) - Math.min(EXTRA_ROWS, last - first) * ROW_HEIGHT);
    this.drawRange(first, last);
    this.drawn.forEach((row, at) => placeRow(row, top + at * ROW_HEIGHT));
    const active = this.cursor >= first && this.cursor < last ? `row-${this.cursor}` : "";
    if (active !== (this.root.getAttribute("aria-activedescendant") ?? "")) {
      if (active) this.root.setAttribute("aria-activedescendant", active);
      else this.root.removeAttribute("aria-activedescendant");
    }
    this.overview?.draw(scrollTop);
  }

  /** Brings the rows in the document to a range. Those that stay are not touched unless they are outdated. @param {number} first @param {number} last */
  drawRange(first, last) {
    const { drawn } = this;
    const end = this.first + drawn.length;
    const from = Math.max(first, this.first);
    const to = Math.min(last, end);
    if (this.isOutdated || from >= to) {
      while (drawn.length > last - first) drawn.pop()?.root.remove();
      drawn.forEach((row, at) => this.fillRow(row, first + at));
      for (let at = first + drawn.length; at < last; at++) drawn.push(this.appendRow(newRow(), at));
    } else {
      const spare = [...drawn.splice(to - this.first), ...drawn.splice(0, from - this.first)];
      for (let at = from - 1; at >= first; at--) {
        const row = spare.pop() ?? newRow();
        this.fillRow(row, at);
        this.canvas.prepend(row.root);
        drawn.unshift(row);
      }
      for (let at = to; at < last; at++) drawn.push(this.appendRow(spare.pop() ?? newRow(), at));
      for (const row of spare) row.root.remove();
    }
    this.first = first;
    this.isOutdated = false;
  }

  /** @param {DrawnRow} row @param {number} at */
  appendRow(row, at) {
    this.fillRow(row, at);
    this.canvas.append(row.root);
    return row;
  }

  /** Shows another entry in a row. @param {DrawnRow} drawn @param {number} at */
  fillRow(drawn, at) {
    const row = this.rows[at];
    const entry = this.store.entries[row.index];
    const isOnPath = this.store.activePath.has(row.index);
    const isLeaf = row.index === this.leaf;
    const isSelected = at === this.cursor;
    const classes = ["row", kindClass(entry), isOnPath && "on-path", isLeaf && "leaf", isSelected && "selected", this.store.deleted.has(row.index) && "deleted"];
    const { root, preview } = drawn;
    root.id = `row-${at}`;
    root.className = classes.filter(Boolean).join(" ");
    root.dataset["row"] = String(at);
    root.title = visibleText(entry.preview);
    root.ariaLevel = String(row.lane + 1);
    // Most rows are not in the document.
    root.ariaPosInSet = String(at + 1);
    root.ariaSetSize = String(this.rows.length);
    root.ariaSelected = String(isSelected);
    root.ariaExpanded = row.isSide && row.children > 0 ? String(!row.isFolded) : null;
    preview.textContent = visibleText(previewText(entry));
    const parts = [drawLanes(row, isOnPath)];
    if (row.isSide && row.children > 0) parts.push(element("span", { class: "fold" }, row.isFolded ? "▸" : "▾"));
    const label = this.store.labelsByEntryId.get(entry.id);
    if (label) parts.push(element("span", { class: "label", dir: "auto" }, label));
    parts.push(preview);
    if (isLeaf) parts.push(element("span", { class: "leaf-mark" }, "leaf"));
    root.replaceChildren(...parts);
  }

  /** The entry of a row. @param {number} at @returns {string | undefined} */
  idAt(at) {
    const row = this.rows[at];
    return row && this.store.entries[row.index].id;
  }

  /** The entry at the cursor, if the tree has the focus. */
  cursorId() {
    return document.activeElement === this.root ? this.idAt(this.cursor) : undefined;
  }

  /** The drawn row of an entry. @param {string} id */
  rowElement(id) {
    return document.getElementById(`row-${this.rowOf(this.store.entryById.get(id) ?? -1)}`);
  }

  /** @param {MouseEvent} event */
  handleClick(event) {
    const target = /** @type {Element} */ (event.target);
    const at = Number(target.closest("[data-row]")?.getAttribute("data-row") ?? -1);
    if (at < 0 || at >= this.rows.length) return;
    if (target.closest(".fold")) this.toggleFold(this.rows[at].index);
    else this.onSelect(this.store.entries[this.rows[at].index].id);
  }

  /** @param {number} index */
  toggleFold(index) {
    const { folded } = this.options;
    if (!folded.delete(index)) folded.add(index);
    this.isFolded = false;
    this.update();
    this.store.notify("view");
  }

  /** The entries whose branches are folded; "all" for all branches. */
  foldedIds() {
    return this.isFolded ? ["all"] : [...this.options.folded].map((index) => this.store.entries[index]?.id).filter(Boolean);
  }

  /** @param {string[]} ids */
  fold(ids) {
    if (ids.includes("all")) return this.foldBranches(true);
    this.isFolded = false;
    this.options.folded = new Set(ids.flatMap((id) => this.store.entryById.get(id) ?? []));
    this.update();
  }

  /** Folds all branches beside the main lane, or unfolds everything. @param {boolean} isFolded */
  foldBranches(isFolded) {
    this.isFolded = isFolded;
    this.options.folded = new Set();
    this.options.folded = new Set(isFolded ? branchStarts(outlineRows(this.store, this.options)) : []);
    this.update();
    this.store.notify("view");
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.root.clientHeight / ROW_HEIGHT) - 1);
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) {
      this.cursor = Math.min(this.rows.length - 1, Math.max(0, this.cursor + steps[event.key]));
      this.scrollToCursor();
      this.redraw();
    } else if (event.key === "Enter" || event.key === " ") {
      if (this.rows[this.cursor]) this.onSelect(this.store.entries[this.rows[this.cursor].index].id);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      this.moveSideways(event.key === "ArrowLeft");
    } else {
      return;
    }
    event.preventDefault();
  }

  /** Folds or unfolds a branch, or moves to where it starts. @param {boolean} isLeft */
  moveSideways(isLeft) {
    const row = this.rows[this.cursor];
    if (!row) return;
    if (row.isSide && row.children > 0 && row.isFolded !== isLeft) {
      const at = this.cursor;
      this.toggleFold(row.index);
      this.cursor = at;
    } else if (isLeft) {
      let at = this.cursor;
      while (at > 0 && !(this.rows[at].isSide && this.rows[at].lane <= row.lane && at < this.cursor)) at--;
      this.cursor = at;
      this.scrollToCursor();
    }
    this.redraw();
  }
}

/** @param {import("./state.js").Row} entry */
export function kindClass(entry) {
  if (entry.type !== "message") return `kind-${entry.type}`;
  return `role-${entry.role ?? "unknown"}`;
}

/** The preview without the name of the role, which the color of the dot shows. @param {import("./state.js").Row} entry */
export function previewText(entry) {
  const quoted = /^(?:user|assistant): "(.*)"$/su.exec(entry.preview);
  const text = quoted ? quoted[1] : entry.preview.replace(/^assistant: /u, "");
  if (entry.role === "assistant" && text === "(no content)" && entry.calls) return entry.calls === 1 ? "(calls a tool)" : `(calls ${entry.calls} tools)`;
  return isMessage(entry) ? plainText(text) : withoutBrackets(entry, text);
}

/** A preview such as `[read: a.txt]`, as people write it. @param {import("./state.js").Row} entry @param {string} text */
function withoutBrackets(entry, text) {
  const [, name, rest = ""] = /^\[([^:\]]+)\]: (.*)$/su.exec(text) ?? /^\[([^:\]]+): (.*)\]$/su.exec(text) ?? /^\[(.*)\]$/su.exec(text) ?? [];
  if (name === undefined) return text;
  if (entry.role === "bashExecution") return `$ ${rest}`;
  // The card of its sub-agents tells what a task is about.
  if (entry.role === "toolResult") return rest === "" || rest === "{}" || name === "task" ? name : `${name} ${rest}`;
  const title = entry.type === "custom_message" ? name : name === "subagents" ? "Sub-agents" : name.charAt(0).toUpperCase() + name.slice(1);
  return rest === "" ? title : `${title}: ${rest}`;
}

/** @param {import("./state.js").Row} entry */
function isMessage(entry) {
  return entry.type === "message" && (entry.role === "user" || entry.role === "assistant");
}

/** A line of a message without the marks of Markdown. @param {string} line */
export function plainText(line) {
  return line
    .replace(/^(?:#{1,6}|[-*+>]) +/u, "")
    .replace(/`{3,}[\w+#-]* ?|`/gu, "")
    .replace(/\*\*(?=\S)(.*?\S)\*\*/gu, "$1")
    .replace(/!?\[([^\]]*)\]\([^()\s]*\)/gu, "$1");
}

/** @param {number} lane */
function laneX(lane) {
  return FIRST_LANE + Math.min(lane, MAX_LANES) * LANE_WIDTH;
}

/** @returns {DrawnRow} */
function newRow() {
  const preview = element("span", { class: "preview", dir: "auto" });
  return { root: element("div", { class: "row", role: "treeitem" }), preview, top: -1 };
}

/** @param {DrawnRow} row @param {number} top */
function placeRow(row, top) {
  if (row.top === top) return;
  row.top = top;
  row.root.style.transform = `translateY(${top}px)`;
}

/** @type {Map<string, SVGElement>} Rows with the same lines have copies of one picture. */
const pictures = new Map();

/** Draws the lines that pass a row, the line to its parent, and its dot. @param {OutlineRow} row @param {boolean} isOnPath */
function drawLanes(row, isOnPath) {
  const goesOn = row.children > 0 && !row.isFolded;
  const lane = Math.min(row.lane, MAX_LANES);
  const key = [lane, row.isSide, row.hasParent, goesOn, isOnPath, isOnPath ? -1 : Math.min(row.activeLane, lane)].join();
  let picture = pictures.get(key);
  if (!picture) pictures.set(key, (picture = laneLines(row, isOnPath, goesOn)));
  return picture.cloneNode(true);
}

/** @param {OutlineRow} row @param {boolean} isOnPath @param {boolean} goesOn */
function laneLines(row, isOnPath, goesOn) {
  const middle = ROW_HEIGHT / 2;
  const x = laneX(row.lane);
  const picture = svg("svg", { class: "lanes", width: x + 10, height: ROW_HEIGHT, "aria-hidden": "true" });
  const line = (/** @type {string} */ d, /** @type {boolean} */ isActive, lane = Math.min(row.lane, MAX_LANES)) =>
    picture.append(svg("path", { d, class: isActive ? "line active" : lane === 0 ? "line" : `line lane-${(lane - 1) % LANE_COLORS}` }));
  for (let lane = 0; lane < Math.min(row.lane, MAX_LANES); lane++) {
    const from = laneX(lane);
    line(`M${from} 0V${ROW_HEIGHT}`, row.activeLane === lane && !isOnPath, lane);
  }
  if (row.isSide) {
    const from = laneX(row.lane - 1);
    line(`M${from} 0Q${from} ${middle} ${x} ${middle}`, isOnPath);
  } else if (row.hasParent) {
    line(`M${x} 0V${middle}`, isOnPath);
  }
  if (goesOn) line(`M${x} ${middle}V${ROW_HEIGHT}`, isOnPath);
  picture.append(svg("circle", { cx: x, cy: middle, r: 4, class: "dot" }));
  return picture;
}
