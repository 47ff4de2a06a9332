// @ts-check
// Two branches side by side, each from where they part.

import { fetchJson } from "./connection.js";
import { Delegations, mergeTasks } from "./delegation.js";
import { showDialog } from "./dialog.js";
import { element, fragment } from "./dom.js";
import { authorOf } from "./entry_parts.js";
import { LiveSession } from "./live_session.js";
import { dollars, tokens } from "./status.js";
import { kindClass, previewText } from "./tree.js";

/** The most entries of a branch that are drawn. */
const MAX_DRAWN = 60;
/** Entries that a comparison leaves out: they are no part of what was said. */
const SETTINGS = new Set(["model_change", "thinking_level_change", "system"]);

/**
 * @param {LiveSession} session @param {string} left @param {string} right
 * @param {(id: string) => void} onShow
 */
export async function openComparison(session, left, right, onShow) {
  const { comparison } = await session.query({ type: "compare", left, right });
  const both = comparison.modifiedByBoth;
  const note = element("p", { class: "notice" }, both.length > 0 ? `Both changed ${both.join(", ")}` : "No file was changed by both");
  await showSides(session, "Two branches", [note], comparison, [{ tip: left }, { tip: right }], onShow);
}

/**
 * Two tries of an explore: their conversations, and how their files differ. Returns whether an entry was opened.
 * @param {LiveSession} session @param {string} explore @param {number} left @param {number} right
 * @param {(id: string) => void} onShow
 */
export async function openTryComparison(session, explore, left, right, onShow) {
  const compared = await session.query({ type: "compare_tries", explore, left, right });
  const files = (/** @type {any[]} */ changes) => (changes.length > 0 ? changes.map((change) => change.path).join(", ") : "no file");
  const note = element("p", { class: "notice" }, `Try ${left} changed ${files(compared.leftFiles)}; try ${right} changed ${files(compared.rightFiles)}`);
  const parts = [note];
  const same = differenceNote(compared);
  if (same) parts.push(element("p", { class: "notice difference-note" }, same));
  if (compared.diff) {
    const { html } = await fetchJson("/api/render", { parts: [{ type: "diff", text: compared.diff }] });
    parts.push(element("details", { class: "file-difference", open: true }, element("summary", {}, `From the files of try ${left} to those of try ${right}`), fragment(html[0])));
  }
  return showSides(session, `Try ${left} and try ${right}`, parts, compared.conversation, [{ tip: compared.left.tipId, name: `Try ${left}` }, { tip: compared.right.tipId, name: `Try ${right}` }], onShow);
}

/** What there is to say about the difference between the files of two tries, if it is not a patch. @param {any} compared */
function differenceNote({ diff, left, leftFiles }) {
  if (diff === "") return leftFiles.length > 0 ? "The files of both tries are equal." : "Neither try changed a file.";
  if (diff) return null;
  return left.place?.kind === "read_only" ? "The tries only read." : "The copies were removed, so the files cannot be compared.";
}

/**
 * Returns whether an entry was opened.
 * @param {LiveSession} session @param {string} title @param {HTMLElement[]} notes @param {any} comparison
 * @param {{ tip: string, name?: string }[]} branches Their last entries. @param {(id: string) => void} onShow
 */
async function showSides(session, title, notes, comparison, branches, onShow) {
  const sides = [comparison.left, comparison.right];
  const columns = await Promise.all(sides.map((side, at) => drawSide(session, side, branches[at])));
  const content = element(
    "form",
    { method: "dialog" },
    element("header", { class: "compare-header" }, element("h2", { id: "dialog-title" }, title), element("button", { type: "button", class: "cancel" }, "Close")),
    ...notes,
    element("div", { class: "columns" }, ...columns),
  );
  /** @type {string | null} */
  let opened = null;
  content.addEventListener("click", (event) => {
    opened = /** @type {Element} */ (event.target).closest("[data-open]")?.getAttribute("data-open") ?? null;
    if (opened) /** @type {HTMLDialogElement | null} */ (content.closest("dialog"))?.close();
  });
  await showDialog(content, "compare");
  if (opened) onShow(opened);
  return opened !== null;
}

/** @param {LiveSession} session @param {any} side @param {{ tip: string, name?: string }} branch */
async function drawSide(session, side, { tip, name }) {
  const { store, bodies } = session;
  const path = side.firstId ? store.pathTo(store.entryById.get(side.tipId ?? tip) ?? -1).map((index) => store.entries[index]) : [];
  const from = path.findIndex((row) => row.id === side.firstId);
  const rows = from < 0 ? [] : path.slice(from).filter((row) => store.isShown(row) && !SETTINGS.has(row.role ?? row.type));
  const drawn = rows.slice(0, MAX_DRAWN);
  await bodies.load(drawn.map((row) => row.id));
  const delegations = new Delegations();
  delegations.read(drawn, (id) => store.batchIdOf(id));
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
    element("header", {}, element("h3", { dir: "auto" }, name ?? side.label ?? titleOf(rows)), element("p", { class: "notice" }, facts.filter(Boolean).join(" · ")), open),
    ...drawn.filter((row) => !delegations.resultOf.has(row.id)).map((row) => drawEntry(bodies, row, delegations.batchOf.get(row.id))),
    ...(rows.length > drawn.length ? [element("p", { class: "notice" }, `${rows.length - drawn.length} more entries`)] : []),
  );
}

/** What a branch is about: what the user said first. @param {import("./state.js").Row[]} rows */
function titleOf(rows) {
  const said = (/** @type {string} */ role) => rows.find((row) => row.type === "message" && row.role === role);
  const row = said("user") ?? said("assistant") ?? rows[0];
  return row ? previewText(row) : "Nothing of its own";
}

/** @param {import("./bodies.js").Bodies} bodies @param {import("./state.js").Row} row @param {import("./state.js").Row} [batch] The batch of results. */
function drawEntry(bodies, row, batch) {
  const body = element("div", { class: "body" }, fragment(bodies.get(row.id) ?? ""));
  if (batch) mergeTasks(body, fragment(bodies.get(batch.id) ?? ""));
  const header = element("header", { class: "entry-header" }, element("span", { class: "who" }, authorOf(row)));
  const origin = body.querySelector(".origin");
  if (origin) header.append(origin);
  return element("article", { class: `entry ${kindClass(row)}` }, header, body);
}
