// @ts-check
// Dialogs. They keep the focus inside and give it back.

import { byId, element } from "./dom.js";

/**
 * @typedef {Object} Field
 * @property {string} name
 * @property {string} label
 * @property {string} [value]
 * @property {string[]} [choices]
 * @property {string[]} [suggestions]
 * @property {boolean} [isLong]
 * @property {string} [placeholder]
 */

/**
 * Asks for values. Resolves with null if the user cancels.
 * @param {{ title: string, text?: string, fields?: Field[], action: string, isDangerous?: boolean }} options
 * @returns {Promise<Record<string, string> | null>}
 */
export function askDialog({ title, text, fields = [], action, isDangerous = false }) {
  const form = element("form", { method: "dialog" }, element("h2", { id: "dialog-title" }, title));
  if (text) form.append(element("p", {}, text));
  for (const field of fields) form.append(drawField(field));
  form.append(
    element(
      "div",
      { class: "dialog-buttons" },
      element("button", { type: "button", value: "cancel", class: "cancel" }, "Cancel"),
      element("button", { type: "submit", value: "ok", class: isDangerous ? "primary dangerous" : "primary" }, action),
    ),
  );
  return showDialog(form, "ask").then((answer) => {
    if (answer !== "ok") return null;
    const value = (/** @type {string} */ name) => /** @type {HTMLInputElement | null} */ (form.querySelector(`[name="${name}"]`))?.value ?? "";
    return Object.fromEntries(fields.map(({ name }) => [name, value(name)]));
  });
}

/** @param {Field} field */
function drawField({ name, label, value = "", choices, suggestions = [], isLong, placeholder = "" }) {
  const id = `field-${name}`;
  const field = element("p", { class: "field" }, element("label", { for: id }, label));
  if (choices) {
    field.append(element("select", { id, name }, ...choices.map((choice) => element("option", { selected: choice === value }, choice))));
    return field;
  }
  const list = suggestions.length > 0 ? `${id}-suggestions` : null;
  const input = element(isLong ? "textarea" : "input", { id, name, placeholder, autocomplete: "off", rows: isLong ? 3 : null, list });
  /** @type {any} */ (input).value = value;
  field.append(input);
  if (list) field.append(element("datalist", { id: list }, ...suggestions.map((text) => element("option", { value: text }))));
  return field;
}

/** Ends the wait for the dialog that was shown last. */
let settle = () => {};

/**
 * Shows a dialog until it is closed. Resolves with the value of the button.
 * @param {HTMLElement} content @param {string} kind A class.
 * @returns {Promise<string>}
 */
export function showDialog(content, kind) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("dialog"));
  // The browser reports the end of a dialog a moment later, when this one may be open already.
  settle();
  dialog.className = kind;
  dialog.replaceChildren(content);
  dialog.returnValue = "";
  for (const cancel of content.querySelectorAll("button.cancel")) cancel.addEventListener("click", () => dialog.close("cancel"));
  dialog.showModal();
  /** @type {HTMLElement | null} */ (content.querySelector("input, textarea, select"))?.focus();
  return new Promise((resolve) => {
    const handleClose = () => dialog.open || settle();
    settle = () => {
      dialog.removeEventListener("close", handleClose);
      settle = () => {};
      resolve(dialog.returnValue);
    };
    dialog.addEventListener("close", handleClose);
  });
}
