// @ts-check
// Tries of one prompt: a form that starts them, and a table that follows them.

import { askDialog, showDialog } from "./dialog.js";
import { announce, element } from "./dom.js";
import { LiveSession } from "./live_session.js";

const HEAD = ["Try", "Status", "Files", "Tests", "Tokens", "Cost", "Model", "Last words"];

/** Asks for a prompt and starts the tries. @param {LiveSession} session @param {(id: string) => void} onShow */
export async function startExplore(session, onShow) {
  const answer = await askDialog({
    title: "Explore",
    text: "Tries a prompt several times at once, each on its own branch and in its own copy of the project. Nothing in the project changes until you keep a try.",
    fields: [
      { name: "prompt", label: "Prompt", isLong: true },
      { name: "count", label: "Number of tries", choices: ["2", "3", "4", "6", "8"], value: "3" },
      { name: "models", label: "Models, separated by commas (optional)" },
    ],
    action: "Explore",
  });
  if (!answer || !answer["prompt"].trim()) return;
  const models = answer["models"].split(",").map((name) => name.trim()).filter(Boolean);
  const tries = Array.from({ length: Number(answer["count"]) }, (_, at) => (models.length > 0 ? { model: models[at % models.length] } : {}));
  const started = await session.send({ type: "explore", action: "start", text: answer["prompt"], tries });
  await showReport(session, started, onShow);
}

/** Shows the latest tries. @param {LiveSession} session @param {(id: string) => void} onShow */
export async function showExplore(session, onShow) {
  const { explores } = await session.query({ type: "explores" });
  if (explores.length === 0) return announce("Nothing was explored in this session");
  await showReport(session, explores[explores.length - 1], onShow);
}

/** @param {LiveSession} session @param {any} report @param {(id: string) => void} onShow */
async function showReport(session, report, onShow) {
  const body = element("tbody");
  const result = element("pre", { class: "notice", "aria-live": "polite" });
  const stop = element("button", { type: "button" }, "Stop");
  const rank = element("button", { type: "button" }, "Rank");
  const content = element(
    "form",
    { method: "dialog" },
    element("header", { class: "compare-header" }, element("h2", { id: "dialog-title", dir: "auto" }, report.prompt), element("button", { type: "button", class: "cancel" }, "Close")),
    element("table", {}, element("thead", {}, element("tr", {}, ...[...HEAD, ""].map((name) => element("th", { scope: "col" }, name)))), body),
    element("div", { class: "dialog-buttons" }, stop, rank),
    result,
  );
  const close = () => /** @type {HTMLDialogElement | null} */ (content.closest("dialog"))?.close();
  /** @param {object} command @param {(reply: any) => string} text */
  const run = async (command, text) => {
    try {
      result.textContent = text(await session.send({ type: "explore", explore: report.id, ...command }));
    } catch (error) {
      result.textContent = /** @type {Error} */ (error).message;
    }
  };
  /** @param {any} one */
  const buttons = (one) => {
    if (one.status === "running" || !one.tipId) return [];
    const keep = element("button", { type: "button" }, "Keep");
    keep.addEventListener("click", () => run({ action: "keep", try: one.try }, keptText));
    const show = element("button", { type: "button" }, "Show");
    show.addEventListener("click", () => {
      close();
      onShow(one.tipId);
    });
    return [keep, show];
  };
  /** @param {any} now */
  const draw = (now) => {
    if (now.id !== report.id) return;
    const isRunning = now.tries.some((/** @type {any} */ one) => one.status === "running");
    stop.toggleAttribute("disabled", !isRunning);
    rank.toggleAttribute("disabled", isRunning);
    body.replaceChildren(...now.tries.map((/** @type {any} */ one) => element("tr", {}, ...cells(one, now.kept).map((text) => element("td", { dir: "auto" }, text)), element("td", {}, ...buttons(one)))));
  };
  stop.addEventListener("click", () => run({ action: "cancel" }, () => "Stopped"));
  rank.addEventListener("click", () => run({ action: "rank" }, (reply) => reply.text));
  draw(report);
  session.onExplore = draw;
  await showDialog(content, "compare");
  session.onExplore = () => {};
}

/** @param {any} one @param {number | undefined} kept */
function cells(one, kept) {
  const tests = one.testsRun === 0 ? "–" : one.testsFailed === 0 ? `${one.testsRun} ok` : `${one.testsFailed} of ${one.testsRun} failed`;
  const status = kept === one.try ? "kept" : one.status === "cancelled" ? "canceled" : one.status;
  return [String(one.try), status, String(one.filesChanged), tests, String(one.usage.totalTokens), `$${one.usage.cost.toFixed(2)}`, one.model, one.error ?? one.activity ?? one.lastWords];
}

/** @param {any} reply */
function keptText(reply) {
  if (reply.kept) return ["Kept. Changed files:", ...reply.files.map((/** @type {any} */ file) => `  ${file.path}`)].join("\n");
  const conflicts = reply.conflicts ?? [];
  if (conflicts.length === 0) return "An extension refused; nothing changed";
  return ["Conflicts with your changes; nothing changed:", ...conflicts.map((/** @type {any} */ one) => `  ${one.path}  ${one.reason}`)].join("\n");
}
