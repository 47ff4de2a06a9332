// @ts-check
// The lines of a session that match a search, with those around them, below its card.

import { element } from "./dom.js";

/** How much of a line is shown, and how much of it before the match, in characters. */
const MAX_LINE = 240;
const MAX_BEFORE = 40;
/** The most lines of a message. */
const MAX_LINES = 6;

/** @typedef {{ entryId: string, role: string, lines: { text: string, isMatch: boolean }[] }} MessageHit */

/** @param {string} sessionId @param {MessageHit[]} hits @param {string} query */
export function drawHits(sessionId, hits, query) {
  const pattern = queryPattern(query);
  const items = hits.map((hit) => element("li", {}, drawHit(sessionId, hit, pattern)));
  return element("ul", { class: "hits", "aria-label": "Matching lines" }, ...items);
}

/** Who wrote what was found, by its role. @type {Record<string, string>} */
const AUTHORS = { user: "You", assistant: "Assistant", summary: "Summary", custom: "Extension" };

/** A link to the entry. @param {string} sessionId @param {MessageHit} hit @param {RegExp | null} pattern */
function drawHit(sessionId, { entryId, role, lines }, pattern) {
  const href = `#session=${encodeURIComponent(sessionId)}&entry=${encodeURIComponent(entryId)}`;
  const author = element("b", { class: `role-${role === "user" ? "user" : "assistant"}` }, AUTHORS[role] ?? "Message");
  const shown = lines.filter(({ text }) => text.trim() !== "").slice(0, MAX_LINES);
  return element("a", { href, class: "hit", "data-entry": entryId }, author, element("span", { class: "hit-lines" }, ...shown.map((line) => drawLine(line, pattern))));
}

/** A line that matches, or one beside it. @param {{ text: string, isMatch: boolean }} line @param {RegExp | null} pattern */
function drawLine({ text, isMatch }, pattern) {
  const line = text.trim();
  return element("span", { class: isMatch ? "hit-line match" : "hit-line", dir: "auto" }, ...(isMatch ? markMatches(line, pattern) : [line.slice(0, MAX_LINE)]));
}

/**
 * What matches a query of words and phrases. A regular expression of the user is not run here: it can take forever.
 * @param {string} query
 */
function queryPattern(query) {
  if (query.trim().startsWith("re:")) return null;
  const parts = [...query.matchAll(/"([^"]+)"|(\S+)/gu)].map(([, phrase, word]) => phrase ?? word);
  const escaped = parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&"));
  return escaped.length > 0 ? new RegExp(escaped.join("|"), "giu") : null;
}

/** The part of a line around its first match, with all matches marked. @param {string} line @param {RegExp | null} pattern */
function markMatches(line, pattern) {
  const first = pattern ? line.search(pattern) : -1;
  // From the start of a word, unless the words are very long.
  const start = first > MAX_BEFORE ? first - MAX_BEFORE + line.slice(first - MAX_BEFORE, first).indexOf(" ") + 1 : 0;
  const shown = `${start > 0 ? "…" : ""}${line.slice(start, start + MAX_LINE)}`;
  if (!pattern) return [shown];
  const parts = [];
  let at = 0;
  for (const match of shown.matchAll(pattern)) {
    parts.push(shown.slice(at, match.index), element("mark", {}, match[0]));
    at = match.index + match[0].length;
  }
  return [...parts, shown.slice(at)];
}
