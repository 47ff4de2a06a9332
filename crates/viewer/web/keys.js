// @ts-check
// The keys of the page, as a dialog.

import { showDialog } from "./dialog.js";
import { element } from "./dom.js";

/** Groups of keys and what they do. @type {[string, [string, string][]][]} */
const KEYS = [
  ["Prompt", [
    ["Enter", "Send; while a turn runs, steer it"],
    ["Shift+Enter", "Start a new line"],
    ["Alt+Enter", "Queue until the turn ends"],
    ["Alt+↑", "Edit queued prompts"],
    ["Esc", "Stop the turn"],
  ]],
  ["Page", [
    ["/", "Search in the tree"],
    ["p", "Go to the prompt"],
    ["m", "Actions of the selected entry"],
    ["l", "Edit its label"],
    ["b", "Show or hide the tree"],
    ["t", "Open or close thinking"],
    ["o", "Open or close tool output"],
    ["h", "Show or hide hidden messages of extensions"],
    ["s", "All sessions"],
  ]],
  ["Tree", [
    ["↑ ↓", "Move"],
    ["← →", "Fold, unfold"],
    ["Enter", "Open the entry"],
  ]],
];

export function showKeys() {
  const groups = KEYS.map(([title, keys]) =>
    element("section", {}, element("h3", {}, title), element("dl", {}, ...keys.flatMap(([key, text]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, text)]))),
  );
  const header = element("header", { class: "compare-header" }, element("h2", { id: "dialog-title" }, "Keys"), element("button", { type: "button", class: "cancel" }, "Close"));
  return showDialog(element("form", { method: "dialog" }, header, ...groups), "keys");
}
