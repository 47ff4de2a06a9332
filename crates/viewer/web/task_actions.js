// @ts-check
// Buttons on the card of a batch: they steer or stop tasks that run.

import { UNFINISHED, tasksIn } from "./delegation.js";
import { askDialog } from "./dialog.js";
import { element, visibleText } from "./dom.js";

/** @typedef {import("./state.js").TaskPanel} TaskPanel */

/** The session of the batch. @typedef {{ steerTasks: (text: string, task?: string) => void, cancelTasks: (task?: string) => void }} TaskSession */

/** Adds buttons to tasks that run, and removes them from those that do not. @param {Element} card @param {TaskPanel[]} panels @param {TaskSession} session */
export function showTaskActions(card, panels, session) {
  const root = card.querySelector(".subagents");
  if (!root) return;
  const running = panels.filter((panel) => UNFINISHED.has(panel.status) && panel.taskId !== undefined);
  for (const task of tasksIn(root)) {
    const panel = running.find((one) => one.taskId === task.dataset["task"]);
    const shown = task.querySelector(".task-actions");
    // Only an agent that works can be steered.
    const wanted = panel?.status ?? "";
    if (shown?.getAttribute("data-for") === wanted) continue;
    shown?.remove();
    if (panel) task.querySelector(".task-header")?.append(taskButtons(panel, wanted, session));
  }
  const all = root.querySelector(":scope > .task-actions");
  if (running.length < 2) all?.remove();
  else if (!all) root.append(element("p", { class: "task-actions only-full" }, button("Steer all tasks", "Steer all tasks", () => steer("all tasks", session)), button("Stop all tasks", "Stop all tasks", () => session.cancelTasks())));
}

/** @param {TaskPanel} panel @param {string} state @param {TaskSession} session */
function taskButtons({ taskId = "", title, goal }, state, session) {
  const name = title || goal;
  const stop = button("Stop", `Stop the task ${name}`, () => session.cancelTasks(taskId));
  const steerOne = button("Steer", `Steer the task ${name}`, () => steer(`the task ${visibleText(name)}`, session, taskId));
  return element("span", { class: "task-actions only-full", "data-for": state }, ...(state === "running" ? [steerOne, stop] : [stop]));
}

/** Asks for a message and sends it. @param {string} name @param {TaskSession} session @param {string} [task] */
async function steer(name, session, task) {
  const text = `${task ? "The sub-agent gets" : "All sub-agents that work get"} this message before the next request.`;
  const answer = await askDialog({ title: `Steer ${name}`, text, fields: [{ name: "text", label: "Message", isLong: true }], action: "Send" });
  const message = answer?.["text"].trim();
  if (message) session.steerTasks(message, task);
}

/** @param {string} text @param {string} label @param {() => void} run */
function button(text, label, run) {
  const made = element("button", { type: "button", "aria-label": label }, text);
  made.addEventListener("click", run);
  return made;
}
