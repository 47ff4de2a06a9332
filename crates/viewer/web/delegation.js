// @ts-check
// A batch of sub-agents as one card: its tasks, while they run and with their results. The entry of the results shows it, or that
// of the batch until there are results.

import { element, visibleText } from "./dom.js";

/** @typedef {import("./state.js").Row} Row */
/** @typedef {import("./state.js").TaskPanel} TaskPanel */

/** The states of a task that goes on. */
export const UNFINISHED = new Set(["queued", "running"]);

/** Which batch the results on a path belong to. */
export class Delegations {
  constructor() {
    /** @type {Map<string, Row>} The results of each batch, by the id of its entry. */
    this.resultOf = new Map();
    /** @type {Map<string, Row>} The batch of results, by the id of their entry. */
    this.batchOf = new Map();
    /** @type {Map<string, Row[]>} The batches that results may belong to, by the id of their entry. */
    this.unclear = new Map();
  }

  /**
   * Of several batches at once, any may end first. Then their ids tell which results belong to which batch.
   * @param {Row[]} path @param {(id: string) => string | undefined} batchIdOf The batch that an entry is about, if it is known.
   */
  read(path, batchIdOf) {
    this.resultOf.clear();
    this.batchOf.clear();
    this.unclear.clear();
    /** @type {Row[]} */
    const open = [];
    for (const row of path) {
      if (row.type === "subagent_batch") open.push(row);
      if (row.type !== "subagent_result" || open.length === 0) continue;
      const own = batchIdOf(row.id);
      const isOwn = (/** @type {Row} */ batch) => {
        const other = batchIdOf(batch.id);
        return own !== undefined && other !== undefined ? own === other : open.length === 1;
      };
      const at = open.findIndex(isOwn);
      if (at < 0) {
        this.unclear.set(row.id, [...open]);
        continue;
      }
      const [batch] = open.splice(at, 1);
      this.resultOf.set(batch.id, row);
      this.batchOf.set(row.id, batch);
    }
  }

  /** The batches that must be known to draw an entry. @param {string} id @returns {string[]} */
  neededFor(id) {
    const batch = this.batchOf.get(id);
    return (batch ? [batch] : (this.unclear.get(id) ?? [])).map((row) => row.id);
  }
}

/**
 * Adds what only the batch knows to the results: titles, and tasks without a result.
 * @param {ParentNode} results @param {ParentNode} batch
 */
export function mergeTasks(results, batch) {
  const place = results.querySelector(".subagents");
  const [source, ended] = [batch.querySelector(".subagents"), tasksIn(results)];
  if (!place || !source || place.getAttribute("data-batch") !== source.getAttribute("data-batch")) return;
  const all = tasksIn(batch).map((task) => {
    const result = ended.find((other) => other.dataset["task"] !== undefined && other.dataset["task"] === task.dataset["task"]);
    if (!result) return task;
    for (const part of [".agent", ".task-title", ".task-session"]) fillFrom(result, task, part);
    return result;
  });
  place.prepend(...all, ...ended.filter((task) => !all.includes(task)));
}

/** @param {ParentNode} root @returns {HTMLElement[]} */
export function tasksIn(root) {
  return [...root.querySelectorAll(".task")].filter((task) => task instanceof HTMLElement);
}

/** @param {Element} result @param {Element} task @param {string} selector */
function fillFrom(result, task, selector) {
  const [empty, full] = [result.querySelector(selector), task.querySelector(selector)];
  if (!full) return;
  if (!empty) result.querySelector(".task-header")?.append(full);
  else if (!empty.textContent && !empty.hasAttribute("data-session")) empty.replaceWith(full);
}

/** Shows the state of tasks that run. @param {Element} card @param {TaskPanel[]} panels */
export function showPanels(card, panels) {
  const root = card.querySelector(".subagents");
  if (!root) return;
  for (const panel of panels) {
    let task = tasksIn(root).find((other) => other.dataset["task"] === panel.taskId);
    if (!task) root.append((task = newTask(panel.taskId)));
    showPanel(task, panel);
  }
}

/** @param {string | undefined} id */
function newTask(id) {
  const part = (/** @type {string} */ name) => element("span", { class: name, dir: "auto" });
  const header = element("header", { class: "task-header" }, part("agent"), part("task-title"), part("task-numbers"), part("status"));
  return element("section", { class: "task", "data-task": id }, header, element("p", { class: "task-activity", dir: "auto" }));
}

/** @param {HTMLElement} task @param {TaskPanel} panel */
function showPanel(task, panel) {
  const set = (/** @type {string} */ selector, /** @type {string | undefined} */ text) => text && task.querySelector(selector)?.replaceChildren(visibleText(text));
  task.dataset["status"] = panel.status;
  set(".agent", panel.agent);
  set(".task-title", panel.title || panel.goal);
  set(".task-numbers", panelNumbers(panel));
  set(".status", panel.status === "cancelled" ? "canceled" : panel.status);
  const isRunning = UNFINISHED.has(panel.status);
  task.querySelector(".task-activity")?.replaceChildren(isRunning ? visibleText(panel.activity || panel.summary || "Waiting for the model") : "");
  if (panel.sessionId && !task.querySelector(".task-session")) task.querySelector(".task-header")?.append(element("span", { class: "task-session", "data-session": panel.sessionId }));
}

/** @param {TaskPanel} panel */
function panelNumbers({ toolCalls = 0, usage }) {
  const total = usage?.totalTokens ?? 0;
  const parts = [toolCalls > 0 ? `${toolCalls} ${toolCalls === 1 ? "call" : "calls"}` : "", total > 0 ? `${total >= 1000 ? `${Math.round(total / 1000)}k` : total} tokens` : ""];
  return parts.filter(Boolean).join(" · ");
}

/** Makes the names of sessions links. @param {ParentNode} root @param {(sessionId: string) => string} address */
export function linkSessions(root, address) {
  for (const place of root.querySelectorAll(".task-session:empty")) {
    const link = element("a", { href: address(place.getAttribute("data-session") ?? ""), class: "only-full" }, "Open");
    const title = place.closest(".task")?.querySelector(".task-title")?.textContent ?? "";
    link.setAttribute("aria-label", `Open the session of the task ${title}`);
    place.append(link);
  }
}
