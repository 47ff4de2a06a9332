// @ts-check
// Two branches side by side, each from where they part.

import { showDialog } from "./dialog.js";
import { element, fragment } from "./dom.js";
import { LiveSession } from "./live_session.js";
import { isShown } from "./state.js";
import { dollars, tokens } from "./status.js";
import { authorOf } from "./transcript.js";
import { kindClass, previewText } from "./tree.js";

/** The most entries of a branch that are drawn. */
const MAX_DRAWN = 60;

/**
 * @param {LiveSession} session @param {string} left @param {string} right
 * @param {(id: string) => void} onShow
 */
export async function openComparison(session, left, right, onShow) {
  const { comparison } = await session.query({ type: "compare", left, right });
  const sides = [comparison.left, comparison.right];
  const columns = await Promise.all(sides.map((side, at) => drawSide(session, side, at === 0 ? left : right)));
  const both = comparison.modifiedByBoth;
  const content = element(
    "form",
    { method: "dialog" },
    element("header", { class: "compare-header" }, element("h2", { id: "dialog-title" }, "Two branches"), element("button", { type: "button", class: "cancel" }, "Close")),
    element("p", { class: "notice" }, both.length > 0 ? `Both changed ${both.join(", ")}` : "No file was changed by both"),
    element("div", { class: "columns" }, ...columns),
  );
  content.addEventListener("click", (event) => {
    const id = /** @type {Element} */ (event.target).closest("[data-open]")?.getAttribute("data-open");
    if (!id) return;
    /** @type {HTMLDialogElement | null} */ (content.closest("dialog"))?.close();
    onShow(id);
  });
  await showDialog(content, "compare");
}

/** @param {LiveSession} session @param {any} side @param {string} tip */
async function drawSide(session, side, tip) {
  const { store, bodies } = session;
  const path = side.firstId ? store.pathTo(store.entryById.get(side.tipId ?? tip) ?? -1).map((index) => store.entries[index]) : [];
  const from = path.findIndex((row) => row.id === side.firstId);
  const rows = from < 0 ? [] : path.slice(from).filter(isShown);
  const drawn = rows.slice(0, MAX_DRAWN);
  await bodies.load(drawn.map((row) => row.id));
  const { usage } = side;
  const facts = [
    `${side.messages} ${side.messages === 1 ? "message" : "messages"}`,
    usage.totalTokens > 0 ? `${tokens(usage.totalTokens)} tokens` : "",
    usage.cost > 0 ? dollars(usage.cost) : "",
    ...side.modifiedFiles.map((/** @type {string} */ file) => `changed ${file}`),
    ...side.readFiles.map((/** @type {string} */ file) => `read ${file}`),
    side.filesLeftOut > 0 ? `${side.filesLeftOut} more files` : "",
  ];
  const open = element("button", { type: "button", "data-open": side.tipId ?? tip }, "Show in the tree");
  return element(
    "section",
    { class: "column" },
    element("header", {}, element("h3", { dir: "auto" }, side.label ?? (rows[0] ? previewText(rows[0]) : "Nothing of its own")), element("p", { class: "notice" }, facts.filter(Boolean).join(" · ")), open),
    ...drawn.map((row) =>
      element("article", { class: `entry ${kindClass(row)}` }, element("header", { class: "entry-header" }, element("span", { class: "who" }, authorOf(row))), element("div", { class: "body" }, fragment(bodies.get(row.id) ?? ""))),
    ),
    ...(rows.length > drawn.length ? [element("p", { class: "notice" }, `${rows.length - drawn.length} more entries`)] : []),
  );
}
