// @ts-check
// The rows of the tree and their lanes: the path to the leaf goes straight down, other branches go to lanes beside it.
// The cost is linear in the number of entries, and nothing recurses.

import { SessionStore } from "./state.js";

/** @typedef {import("./state.js").Row} Row */

/**
 * @typedef {Object} OutlineRow
 * @property {number} index The entry.
 * @property {number} lane
 * @property {boolean} isSide It starts a lane of its own.
 * @property {boolean} hasParent
 * @property {number} children The number of entries below it in the outline.
 * @property {boolean} isFolded
 * @property {number} activeLane The lane in which the shown path passes this row; -1 for none.
 */

/**
 * @typedef {Object} OutlineOptions
 * @property {string} filter default, no-tools, user-only, labeled-only or all
 * @property {string[]} words Lowercase words that must all occur.
 * @property {Set<number>} folded Entries whose branches are folded.
 * @property {Set<number>} [matches] Entries that contain all words in their text.
 */

const BOOKKEEPING = new Set([
  "label", "context_edit", "custom", "model_change", "thinking_level_change", "session_info", "leaf", "config",
  "delete_branch", "restore_branch", "entry_update",
]);
const OWN_MARKS = new Set(["leaf", "config", "delete_branch", "restore_branch", "entry_update"]);
const QUIET_REASONS = new Set(["", "stop", "toolUse"]);

/**
 * @param {SessionStore} store
 * @param {OutlineOptions} options
 * @returns {OutlineRow[]}
 */
export function outlineRows(store, options) {
  const below = shownChildren(store, shownEntries(store, options));
  const isOnLeafPath = new Uint8Array(store.entries.length);
  for (const index of store.pathTo(store.leafIndex())) isOnLeafPath[index] = 1;
  /** @type {OutlineRow[]} */
  const rows = [];
  /** @type {number[]} What is still to be drawn: the entry, its lane, and 1 if it starts a lane. */
  const open = [];
  for (const index of below.of(-1).reverse()) open.push(index, 0, 0);
  let pathLane = -1;
  while (open.length > 0) {
    const isSide = open.pop() === 1;
    const lane = /** @type {number} */ (open.pop());
    const index = /** @type {number} */ (open.pop());
    const children = below.of(index);
    const isFolded = options.folded.has(index) && children.length > 0;
    rows.push({ index, lane, isSide, hasParent: !below.isRoot(index), children: children.length, isFolded, activeLane: pathLane });
    if (store.activePath.has(index)) {
      const goesOn = !isFolded && children.some((child) => store.activePath.has(child));
      pathLane = goesOn ? lane : -1;
    }
    if (isFolded || children.length === 0) continue;
    const main = mainChild(store, children, isOnLeafPath);
    open.push(main, lane, 0);
    for (let at = children.length - 1; at >= 0; at--) if (children[at] !== main) open.push(children[at], lane + 1, 1);
  }
  return rows;
}

/** The child that stays in the lane: the one on the path to the leaf, else the newest. */
function mainChild(/** @type {SessionStore} */ store, /** @type {number[]} */ children, /** @type {Uint8Array} */ isOnLeafPath) {
  if (children.length === 1) return children[0];
  const active = children.find((child) => isOnLeafPath[child]);
  return active ?? children.reduce((best, child) => (store.newestBelow(child) > store.newestBelow(best) ? child : best));
}

/** The nearest shown entries below each shown entry and below -1, in the order of the log. */
function shownChildren(/** @type {SessionStore} */ store, /** @type {Uint8Array} */ shown) {
  const number = store.entries.length;
  // The nearest shown ancestor of each entry, and linked lists of the entries below each.
  const above = new Int32Array(number);
  const firstBelow = new Int32Array(number + 1).fill(-1);
  const lastBelow = new Int32Array(number + 1).fill(-1);
  const next = new Int32Array(number).fill(-1);
  for (let index = 0; index < number; index++) {
    const parent = store.parentIndex(index);
    above[index] = parent < 0 || shown[parent] ? parent : above[parent];
    if (!shown[index]) continue;
    const list = above[index] + 1;
    if (lastBelow[list] < 0) firstBelow[list] = index;
    else next[lastBelow[list]] = index;
    lastBelow[list] = index;
  }
  return {
    isRoot: (/** @type {number} */ index) => above[index] < 0,
    of: (/** @type {number} */ index) => {
      /** @type {number[]} */
      const found = [];
      for (let at = firstBelow[index + 1]; at >= 0; at = next[at]) found.push(at);
      return found;
    },
  };
}

/** @returns {Uint8Array} 1 for each entry that the options show. */
function shownEntries(/** @type {SessionStore} */ store, /** @type {OutlineOptions} */ options) {
  const leaf = store.leafIndex();
  return Uint8Array.from(store.entries, (row, index) => {
    if (store.deleted.has(index) && options.filter !== "all") return 0;
    const label = store.labelsByEntryId.get(row.id);
    const isWanted = row.type !== "usage" && !(hasOnlyCalls(row) && index !== leaf) && passesFilter(row, label, options.filter, store.isHidden(row));
    return isWanted && (matchesWords(row, label, options.words) || options.matches?.has(index)) ? 1 : 0;
  });
}

/** A reply that only calls tools is not shown, because its results are. */
function hasOnlyCalls(/** @type {Row} */ row) {
  return row.role === "assistant" && !row.hasText && QUIET_REASONS.has(row.reason ?? "");
}

function passesFilter(/** @type {Row} */ row, /** @type {string | undefined} */ label, /** @type {string} */ filter, /** @type {boolean} */ isHidden) {
  const isDrawn = !isHidden;
  const isTalk = isDrawn && !BOOKKEEPING.has(row.type) && row.role !== "system";
  switch (filter) {
    case "all":
      return true;
    case "no-tools":
      return isTalk && row.role !== "toolResult";
    case "user-only":
      return row.role === "user";
    case "labeled-only":
      return isDrawn && !OWN_MARKS.has(row.type) && label !== undefined;
    default:
      return isTalk;
  }
}

function matchesWords(/** @type {Row} */ row, /** @type {string | undefined} */ label, /** @type {string[]} */ words) {
  if (words.length === 0) return true;
  const text = `${row.preview} ${label ?? ""}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The lowercase words of a search. @param {string} text */
export function searchWords(text) {
  return text.toLowerCase().split(/\s+/).filter((word) => word !== "");
}

/** Every entry that starts a branch beside the main lane, and has entries below it. @param {OutlineRow[]} rows */
export function branchStarts(rows) {
  return rows.filter((row) => row.isSide && row.children > 0).map((row) => row.index);
}
