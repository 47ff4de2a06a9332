// @ts-check
// Parts of an entry that both pages draw: who wrote it and when, other continuations, code that is copied, images that are enlarged.

import { announce, copyToClipboard, element } from "./dom.js";
import { SessionStore } from "./state.js";

/** @typedef {import("./state.js").Row} Row */

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
  subagent_result: "Sub-agents",
  model_change: "",
  thinking_level_change: "",
};

/** @param {Row} entry */
export function authorOf(entry) {
  if (entry.role === "toolResult") return entry.preview.replace(/^\[(.*?)(?:: \{\})?\]$/su, "$1");
  if (entry.type === "branch_summary" && entry.preview.startsWith("[graft from ")) return "Graft";
  return AUTHORS[entry.type === "message" ? entry.role ?? "" : entry.type] ?? "Message";
}

/** @param {string | undefined} timestamp */
export function drawTime(timestamp) {
  const date = timestamp ? new Date(timestamp) : null;
  if (!date || Number.isNaN(date.getTime())) return element("span", {}, "#");
  return element("time", { datetime: timestamp, title: date.toLocaleString() }, shortTime(date, new Date()));
}

/** The time of a date, after its day if that is not today. @param {Date} date @param {Date} now */
function shortTime(date, now) {
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === now.toDateString()) return time;
  /** @type {Intl.DateTimeFormatOptions} */
  const year = date.getFullYear() === now.getFullYear() ? {} : { year: "numeric" };
  return `${date.toLocaleDateString([], { day: "numeric", month: "short", ...year })}, ${time}`;
}

export function drawMenuButton() {
  return element("button", { type: "button", class: "entry-menu quiet", "aria-label": "Actions of this entry", "aria-haspopup": "menu", title: "Actions (m)" }, "⋯");
}

/** Shows which of several continuations this is, and leads to the others. */
export function drawSwitch(/** @type {SessionStore} */ store, /** @type {number[]} */ others, /** @type {number} */ at) {
  const step = (/** @type {number} */ by, /** @type {string} */ sign, /** @type {string} */ name) => {
    const other = others[at + by];
    const id = other === undefined ? null : store.entries[other].id;
    return element("button", { type: "button", "data-show": id, disabled: id === null, "aria-label": name }, sign);
  };
  const text = `${at + 1}/${others.length}`;
  const title = `Branch ${at + 1} of ${others.length}`;
  return element("span", { class: "switch", title }, step(-1, "‹", "Previous branch"), text, step(1, "›", "Next branch"));
}

/** Makes code copied and images enlarged, in the conversation and in dialogs. */
export function connectParts() {
  document.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (target.matches("button.copy")) copyCode(target);
    const image = target.closest("button.zoom");
    if (image) toggleZoom(image);
  });
  const endWithKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !endZoom()) return;
    event.stopImmediatePropagation();
    // It would close the dialog around the image.
    event.preventDefault();
  };
  addEventListener("keydown", endWithKey, { capture: true });
}

/** @param {Element} button */
async function copyCode(button) {
  const code = [...(button.parentElement?.querySelectorAll("code") ?? [])].map((part) => part.textContent).join("\n");
  try {
    await copyToClipboard(code);
    announce("Copied");
  } catch (error) {
    announce(/** @type {Error} */ (error).message);
  }
}

/** Shows an image as large as the window, or as it was. @param {Element} button */
function toggleZoom(button) {
  button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
}

/** Ends the enlargement of images. Returns whether there was one. */
function endZoom() {
  const open = [...document.querySelectorAll("button.zoom[aria-pressed=true]")];
  open.forEach(toggleZoom);
  return open.length > 0;
}
