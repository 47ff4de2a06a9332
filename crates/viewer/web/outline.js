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
  const shown = shownEntries(store, options);
  const below = shownChildren(store, shown);
  const leafPath = new Set(store.pathTo(store.leafIndex()));
  /** @type {OutlineRow[]} */
  const rows = [];
  /** @type {{ index: number, lane: number, isSide: boolean, hasParent: boolean }[]} */
  const open = (below.get(-1) ?? []).map((index) => ({ index, lane: 0, isSide: false, hasParent: false })).reverse();
  let pathLane = -1;
  while (open.length > 0) {
    const { index, lane, isSide, hasParent } = /** @type {typeof open[0]} */ (open.pop());
    const children = below.get(index) ?? [];
    const isFolded = options.folded.has(index) && children.length > 0;
    rows.push({ index, lane, isSide, hasParent, children: children.length, isFolded, activeLane: pathLane });
    if (store.activePath.has(index)) {
      const goesOn = !isFolded && children.some((child) => store.activePath.has(child));
      pathLane = goesOn ? lane : -1;
    }
    if (isFolded || children.length === 0) continue;
    const main = mainChild(store, children, leafPath);
    open.push({ index: main, lane, isSide: false, hasParent: true });
    for (const child of [...children].reverse()) {
      if (child !== main) open.push({ index: child, lane: lane + 1, isSide: true, hasParent: true });
    }
  }
  return rows;
}

/** The child that stays in the lane: the one on the path to the leaf, else the newest. */
function mainChild(/** @type {SessionStore} */ store, /** @type {number[]} */ children, /** @type {Set<number>} */ leafPath) {
  if (children.length === 1) return children[0];
  const active = children.find((child) => leafPath.has(child));
  return active ?? children.reduce((best, child) => (store.newestBelow(child) > store.newestBelow(best) ? child : best));
}

/** For each shown entry and for -1, the nearest shown entries below it. */
function shownChildren(/** @type {SessionStore} */ store, /** @type {Uint8Array} */ shown) {
  /** @type {Map<number, number[]>} */
  const below = new Map();
  /** @type {[number, number][]} Entries and their nearest shown ancestors. */
  const open = [...store.children(-1)].reverse().map((index) => [index, -1]);
  while (open.length > 0) {
    const [index, above] = /** @type {[number, number]} */ (open.pop());
    if (shown[index]) {
      const siblings = below.get(above);
      if (siblings) siblings.push(index);
      else below.set(above, [index]);
    }
    const children = store.children(index);
    for (let at = children.length - 1; at >= 0; at--) open.push([children[at], shown[index] ? index : above]);
  }
  return below;
}

/** @returns {Uint8Array} 1 for each entry that the options show. */
function shownEntries(/** @type {SessionStore} */ store, /** @type {OutlineOptions} */ options) {
  const leaf = store.leafIndex();
  return Uint8Array.from(store.entries, (row, index) => {
    if (store.deleted.has(index) && options.filter !== "all") return 0;
    const label = store.labelsByEntryId.get(row.id);
    const isWanted = row.type !== "usage" && !(hasOnlyCalls(row) && index !== leaf) && passesFilter(row, label, options.filter);
    return isWanted && (matchesWords(row, label, options.words) || options.matches?.has(index)) ? 1 : 0;
  });
}

/** A reply that only calls tools is not shown, because its results are. */
function hasOnlyCalls(/** @type {Row} */ row) {
  return row.role === "assistant" && !row.hasText && QUIET_REASONS.has(row.reason ?? "");
}

function passesFilter(/** @type {Row} */ row, /** @type {string | undefined} */ label, /** @type {string} */ filter) {
  const isDrawn = !(row.hidden && row.type === "custom_message");
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
