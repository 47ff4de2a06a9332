// @ts-check
// Buttons on the card of a batch: they steer or stop tasks that run.

import { UNFINISHED, tasksIn } from "./delegation.js";
import { askDialog } from "./dialog.js";
import { element, visibleText } from "./dom.js";

/** @typedef {import("./state.js").TaskPanel} TaskPanel */

/** The session of the batch. @typedef {{ steerTask: (task: string, text: string) => void, cancelTasks: (task?: string) => void }} TaskSession */

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
  else if (!all) root.append(element("p", { class: "task-actions only-full" }, button("Stop all tasks", "Stop all tasks", () => session.cancelTasks())));
}

/** @param {TaskPanel} panel @param {string} state @param {TaskSession} session */
function taskButtons({ taskId = "", title, goal }, state, session) {
  const name = title || goal;
  const steer = async () => {
    const answer = await askDialog({ title: `Steer the task ${visibleText(name)}`, text: "The sub-agent gets this message before its next request.", fields: [{ name: "text", label: "Message", isLong: true }], action: "Send" });
    const text = answer?.["text"].trim();
    if (text) session.steerTask(taskId, text);
  };
  const stop = button("Stop", `Stop the task ${name}`, () => session.cancelTasks(taskId));
  const buttons = state === "running" ? [button("Steer", `Steer the task ${name}`, steer), stop] : [stop];
  return element("span", { class: "task-actions only-full", "data-for": state }, ...buttons);
}

/** @param {string} text @param {string} label @param {() => void} run */
function button(text, label, run) {
  const made = element("button", { type: "button", "aria-label": label }, text);
  made.addEventListener("click", run);
  return made;
}
