// @ts-check
// Tries of one prompt: a form that starts them, and a table that follows, compares, ranks and keeps them.

import { openTryComparison } from "./compare.js";
import { askDialog, showDialog } from "./dialog.js";
import { announce, byId, element, visibleText } from "./dom.js";
import { LiveSession } from "./live_session.js";
import { dollars, tokens } from "./status.js";
import { plainText, previewText } from "./tree.js";

const HEAD = ["Try", "Status", "Files", "Tests", "Tokens", "Cost", "Model", "Last words"];

/** What the page does. @typedef {{ show: (id: string) => void, showEnd: () => void }} ExplorePage */

/** Asks for a prompt and starts the tries at the selected entry. @param {LiveSession} session @param {ExplorePage} page */
export async function startExplore(session, page) {
  const editor = /** @type {HTMLTextAreaElement} */ (byId("prompt"));
  const setEditor = (/** @type {string} */ text) => {
    editor.value = text;
    // The editor fits its height to the text.
    editor.dispatchEvent(new Event("input"));
  };
  const answer = await askDialog({
    title: "Explore",
    text: `Tries a prompt several times at once, each on its own branch and in its own copy of the project. Nothing in the project changes until you keep a try.${startText(session)}`,
    fields: [
      { name: "prompt", label: "Prompt", isLong: true, value: editor.value },
      { name: "count", label: "Number of tries", choices: ["2", "3", "4", "6", "8"], value: "3" },
      { name: "models", label: "Models, separated by commas (optional)" },
      { name: "instructions", label: "Different instructions, one line for each try (optional)", isLong: true },
    ],
    action: "Explore",
  });
  if (!answer || !answer["prompt"].trim()) return;
  // If the tries cannot start, the prompt is in the editor.
  setEditor(answer["prompt"]);
  const models = answer["models"].split(",").map((name) => name.trim()).filter(Boolean);
  const instructions = answer["instructions"].split("\n").map((text) => text.trim()).filter(Boolean);
  // Each try gets the next one of each list, from the beginning again after the last.
  const tries = Array.from({ length: Number(answer["count"]) }, (_, at) => ({
    ...(models.length > 0 && { model: models[at % models.length] }),
    ...(instructions.length > 0 && { instructions: instructions[at % instructions.length] }),
  }));
  if (!(await session.moveToSelected())) return;
  page.showEnd();
  const started = await session.send({ type: "explore", action: "start", text: answer["prompt"], tries });
  setEditor("");
  await showReport(session, started, page);
}

/** Where the tries start, if it is not the leaf. @param {LiveSession} session */
function startText({ store }) {
  const row = store.continuation();
  if (!row) return "";
  const isOwn = row.type === "message" && row.role === "user";
  return ` ${isOwn ? "The tries replace" : "The tries continue from"} the selected entry: “${previewText(row)}”`;
}

/** Shows the latest tries. @param {LiveSession} session @param {ExplorePage} page */
export async function showExplore(session, page) {
  const report = await readReport(session);
  if (!report) return announce("Nothing was explored in this session");
  await showReport(session, report, page);
}

/** One explore, or the latest. @param {LiveSession} session @param {string} [id] */
async function readReport(session, id) {
  const { explores } = await session.query({ type: "explores" });
  return id ? explores.find((/** @type {any} */ report) => report.id === id) : explores.at(-1);
}

/**
 * Shows the table until it is closed. A comparison and the question whether to remove the copies lead back to it.
 * @param {LiveSession} session @param {any} report @param {ExplorePage} page
 */
async function showReport(session, report, page) {
  let result = "";
  for (let shown = report; shown; shown = await readReport(session, report.id)) {
    const table = new ExploreTable(session, shown, page);
    table.result.textContent = result;
    result = "";
    session.onExplore = (now) => table.draw(now);
    // What happened until now is in no event that follows.
    readReport(session, report.id).then((now) => now && table.draw(now)).catch(() => {});
    await showDialog(table.root, "compare explore");
    session.onExplore = () => {};
    if (table.isRemoving) {
      result = await removeCopies(session, report.id);
      continue;
    }
    if (!table.compared) return;
    const [left, right] = table.compared;
    if (await openTryComparison(session, report.id, left, right, page.show)) return;
  }
}

/** Asks, and removes the copies. Returns what to show. @param {LiveSession} session @param {string} id */
async function removeCopies(session, id) {
  const text = "What the tries changed, and you did not keep, is lost. The branches stay.";
  if (!(await askDialog({ title: "Remove the copies?", text, action: "Remove", isDangerous: true }))) return "";
  try {
    await session.send({ type: "explore", explore: id, action: "remove" });
    return "Removed the copies. The branches stay.";
  } catch (error) {
    return visibleText(/** @type {Error} */ (error).message);
  }
}

class ExploreTable {
  /** @param {LiveSession} session @param {any} report @param {ExplorePage} page */
  constructor(session, report, page) {
    this.session = session;
    this.report = report;
    this.page = page;
    /** @type {Set<number>} The tries whose boxes are checked. */
    this.checked = new Set();
    /** @type {[number, number] | null} The tries to compare, when the table is closed for that. */
    this.compared = null;
    this.body = element("tbody");
    this.result = element("pre", { class: "explore-result", role: "status", dir: "auto" });
    this.stop = this.button("Stop", () => this.run({ action: "cancel" }, () => "Stopped"));
    this.rank = this.button("Rank", () => {
      this.result.textContent = "A model ranks the tries…";
      return this.run({ action: "rank" }, (reply) => reply.text);
    });
    this.isRemoving = false;
    this.remove = this.button("Remove the copies", () => {
      this.isRemoving = true;
      this.close();
    });
    this.compare = this.button("Compare", () => this.close(/** @type {[number, number]} */ ([...this.checked].sort((left, right) => left - right))));
    const head = [element("th", { scope: "col" }, element("span", { class: "visually-hidden" }, "Compare")), ...HEAD.map((name) => element("th", { scope: "col" }, name)), element("th", { scope: "col" }, element("span", { class: "visually-hidden" }, "Actions"))];
    this.root = element(
      "form",
      { method: "dialog" },
      element("header", { class: "compare-header" }, element("h2", { id: "dialog-title", dir: "auto" }, report.prompt), element("button", { type: "button", class: "cancel" }, "Close")),
      element("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Tries" }, element("table", {}, element("thead", {}, element("tr", {}, ...head)), this.body)),
      element("div", { class: "dialog-buttons only-full" }, this.compare, this.rank, this.stop, this.remove),
      this.result,
    );
    this.draw(report);
  }

  /** @param {string} name @param {() => void} run */
  button(name, run) {
    const made = element("button", { type: "button" }, name);
    made.addEventListener("click", run);
    return made;
  }

  /** @param {[number, number] | null} [compared] */
  close(compared = null) {
    this.compared = compared;
    /** @type {HTMLDialogElement | null} */ (this.root.closest("dialog"))?.close();
  }

  /** @param {object} command @param {(reply: any) => string} text What to show when it is done. */
  async run(command, text) {
    try {
      this.result.textContent = visibleText(text(await this.session.send({ type: "explore", explore: this.report.id, ...command })));
    } catch (error) {
      this.result.textContent = visibleText(/** @type {Error} */ (error).message);
    }
    const now = await readReport(this.session, this.report.id).catch(() => null);
    if (now) this.draw(now);
  }

  /** Keeps a try. The leaf moves to its end, which is shown. @param {number} number */
  keep(number) {
    return this.run({ action: "keep", try: number }, (reply) => {
      // To count the files of all tries again takes a while.
      if (reply.kept) this.draw({ ...this.report, kept: number, unfinishedKeep: null });
      if (reply.kept) this.page.showEnd();
      return keptText(reply);
    });
  }

  /** @param {any} now */
  draw(now) {
    if (now.id !== this.report.id) return;
    this.report = now;
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset["focus"];
    this.body.replaceChildren(...now.tries.map((/** @type {any} */ one) => this.drawTry(one)));
    if (focused) /** @type {HTMLElement | null} */ (this.body.querySelector(`[data-focus="${focused}"]`))?.focus();
    this.updateButtons();
  }

  updateButtons() {
    const { tries } = this.report;
    const isRunning = tries.some((/** @type {any} */ one) => one.status === "running");
    this.stop.toggleAttribute("disabled", !isRunning);
    this.rank.toggleAttribute("disabled", isRunning);
    this.remove.toggleAttribute("disabled", isRunning || !tries.some((/** @type {any} */ one) => one.folder));
    this.compare.toggleAttribute("disabled", this.checked.size !== 2);
    this.compare.title = this.checked.size === 2 ? "" : "Check two tries";
  }

  /** @param {any} one */
  drawTry(one) {
    const isOver = one.status !== "running" && one.tipId;
    const box = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", "aria-label": `Compare try ${one.try}`, disabled: !isOver, "data-focus": `box-${one.try}` }));
    box.checked = this.checked.has(one.try);
    box.addEventListener("change", () => {
      this.checked[box.checked ? "add" : "delete"](one.try);
      this.updateButtons();
    });
    const cells = cellsOf(one, this.report).map((text, at) => element("td", { dir: "auto", "data-name": HEAD[at], "data-status": at === 1 ? one.status : null }, text));
    return element("tr", { class: this.report.kept === one.try ? "kept" : null }, element("td", { class: "box" }, box), ...cells, element("td", { class: "try-actions" }, ...(isOver ? this.tryButtons(one) : [])));
  }

  /** @param {any} one */
  tryButtons(one) {
    const show = this.button("Show", () => {
      this.close();
      this.page.show(one.tipId);
    });
    const keep = this.button("Keep", () => this.keep(one.try));
    keep.className = "primary only-full";
    keep.toggleAttribute("disabled", this.report.kept === one.try);
    for (const [name, button] of Object.entries({ show, keep })) {
      button.dataset["focus"] = `${name}-${one.try}`;
      button.setAttribute("aria-label", `${button.textContent} try ${one.try}`);
    }
    return [show, keep];
  }
}

/** @param {any} one @param {any} report */
function cellsOf(one, { kept, unfinishedKeep }) {
  const tests = one.testsRun === 0 ? "–" : one.testsFailed === 0 ? `${one.testsRun} ok` : `${one.testsFailed} of ${one.testsRun} failed`;
  const ended = one.status === "cancelled" ? "canceled" : one.status;
  const status = kept === one.try ? "kept" : unfinishedKeep === one.try ? "partly kept" : ended;
  const place = one.place?.kind === "read_only" ? " (read-only)" : "";
  return [String(one.try), `${status}${place}`, String(one.filesChanged), tests, tokens(one.usage.totalTokens), one.usage.cost > 0 ? dollars(one.usage.cost) : "–", one.model, one.error ?? one.activity ?? plainText(one.lastWords ?? "")];
}

/** @param {any} reply */
function keptText(reply) {
  if (reply.kept) {
    const kept = reply.insteadOf ? `Kept try ${reply.try} instead of try ${reply.insteadOf}` : `Kept try ${reply.try}`;
    const changed = reply.files.map((/** @type {any} */ file) => `  ${file.path}`);
    return changed.length > 0 ? [`${kept}. Changed files:`, ...changed].join("\n") : `${kept}. No file changed.`;
  }
  const conflicts = reply.conflicts ?? [];
  if (conflicts.length === 0) return "An extension refused; nothing changed";
  return ["Conflicts with your changes; nothing changed:", ...conflicts.map((/** @type {any} */ one) => `  ${one.path}  ${one.reason}`)].join("\n");
}
