// @ts-check
// Where a reader is in a session: the selected entry, the place in the conversation, how the tree is shown, what is open. It
// is kept as pointers. The address has them, so that a refresh, a copied address and another browser show the same; and
// this browser keeps them for each session, so that opening it again does, too.

import { preferences } from "./dom.js";

/**
 * @typedef {Object} View
 * @property {string | null} entry The selected entry; null for the leaf.
 * @property {{ id: string, share: number } | null} at The entry at the top, and how much of it is above; null at the end.
 * @property {string | null} row The entry at the top of the tree, if the user scrolled it.
 * @property {string} filter
 * @property {string} find What is searched in the tree.
 * @property {string[]} folded Entries whose branches are folded; "all" for all branches.
 * @property {string[]} open Parts that are open: all of a class, or `ID:NUMBER`.
 * @property {string[]} closed Parts `ID:NUMBER` that are closed although all of their class are open.
 * @property {boolean} isTreeClosed
 */

/** The sessions whose views are kept. */
const MAX_SESSIONS = 200;
/** The longest list in an address. */
const MAX_LISTED = 60;

/** @param {string} sessionId @param {Partial<View>} [view] */
export function addressOf(sessionId, view = {}) {
  const url = new URL(location.href);
  const parts = encodeView(view);
  url.hash = `session=${encodeURIComponent(sessionId)}${parts ? `&${parts}` : ""}`;
  return url.href;
}

/** The session and the view in the address. Without a view in it, `view` is null. */
export function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const sessionId = parts.get("session");
  parts.delete("session");
  return { sessionId, view: parts.size > 0 ? decodeView(parts) : null };
}

/** @param {Partial<View>} view */
export function encodeView(view) {
  const parts = new URLSearchParams();
  if (view.at) parts.set("at", `${view.at.id}:${Number(view.at.share.toFixed(4))}`);
  if (view.filter && view.filter !== "default") parts.set("filter", view.filter);
  if (view.find) parts.set("find", view.find);
  if (view.row) parts.set("row", view.row);
  for (const [name, list] of Object.entries({ fold: view.folded, open: view.open, close: view.closed })) {
    for (const item of (list ?? []).slice(0, MAX_LISTED)) parts.append(name, item);
  }
  if (view.isTreeClosed) parts.set("tree", "closed");
  if (view.entry) parts.set("entry", view.entry);
  return parts.toString();
}

/** @param {URLSearchParams} parts @returns {View} */
export function decodeView(parts) {
  const [, id, share] = /^(.*):(-?[\d.]+)$/su.exec(parts.get("at") ?? "") ?? [];
  return {
    entry: parts.get("entry"),
    at: id && Number.isFinite(Number(share)) ? { id, share: Number(share) } : null,
    row: parts.get("row"),
    filter: parts.get("filter") ?? "default",
    find: parts.get("find") ?? "",
    folded: parts.getAll("fold"),
    open: parts.getAll("open"),
    closed: parts.getAll("close"),
    isTreeClosed: parts.get("tree") === "closed",
  };
}

/** What this browser keeps of each session, the one used last at the end. */
export const keptViews = {
  /** @returns {[string, string][]} */
  all() {
    try {
      const kept = JSON.parse(preferences.get("views") ?? "[]");
      return Array.isArray(kept) ? kept : [];
    } catch {
      return [];
    }
  },
  /** @param {string} sessionId @returns {View} */
  get(sessionId) {
    const [, text] = this.all().find((kept) => kept?.[0] === sessionId) ?? [];
    return { ...decodeView(new URLSearchParams(String(text ?? ""))), entry: null };
  },
  /** @param {string} sessionId @param {View} view */
  set(sessionId, view) {
    const others = this.all().filter((kept) => Array.isArray(kept) && kept[0] !== sessionId);
    // A selection decides where a prompt goes, so a session that is opened anew has none.
    // What is searched is no pointer.
    const text = encodeView({ ...view, entry: null, find: "" });
    // Nothing is the same as an entry without pointers.
    const kept = text ? [...others, [sessionId, text]] : others;
    preferences.set("views", JSON.stringify(kept.slice(-MAX_SESSIONS)));
  },
};
