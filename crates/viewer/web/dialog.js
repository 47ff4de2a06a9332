// @ts-check
// Menus and dialogs. Both keep the focus inside and give it back.

import { byId, element } from "./dom.js";

/** @typedef {{ name: string, run: () => void, hint?: string, isDangerous?: boolean, disabled?: boolean }} MenuItem */

/**
 * Opens a menu below an element, or at a point.
 * @param {(MenuItem | null)[]} items `null` draws a line.
 * @param {Element} anchor
 */
export function openMenu(items, anchor) {
  const menu = byId("menu");
  const drawn = items.map((item) => (item ? drawItem(item, menu) : element("hr")));
  menu.replaceChildren(...drawn);
  menu.showPopover();
  const box = anchor.getBoundingClientRect();
  const left = Math.min(box.left, innerWidth - menu.offsetWidth - 8);
  const isBelow = box.bottom + menu.offsetHeight + 8 < innerHeight;
  const top = isBelow ? box.bottom + 4 : box.top - menu.offsetHeight - 4;
  menu.style.left = `${Math.max(8, left)}px`;
  // The anchor may be out of view.
  menu.style.top = `${Math.max(8, Math.min(top, innerHeight - menu.offsetHeight - 8))}px`;
  const returnTo = /** @type {HTMLElement | null} */ (document.activeElement);
  /** @type {HTMLElement | null} */ (menu.querySelector("button:not(:disabled)"))?.focus();
  menu.onkeydown = (event) => moveInMenu(event, menu);
  menu.ontoggle = (event) => {
    if (/** @type {any} */ (event).newState === "closed" && (document.activeElement === document.body || menu.contains(document.activeElement))) {
      returnTo?.focus();
    }
  };
}

/** @param {MenuItem} item @param {HTMLElement} menu */
function drawItem(item, menu) {
  const button = element("button", { type: "button", role: "menuitem", class: item.isDangerous ? "dangerous" : null, disabled: item.disabled ?? false }, item.name);
  if (item.hint) button.append(element("kbd", {}, item.hint));
  button.addEventListener("click", () => {
    menu.hidePopover();
    item.run();
  });
  return button;
}

/** @param {KeyboardEvent} event @param {HTMLElement} menu */
function moveInMenu(event, menu) {
  const items = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("button:not(:disabled)")]);
  const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  /** @type {Record<string, number>} */
  const targets = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
  if (!(event.key in targets)) return;
  items[(targets[event.key] + items.length) % items.length]?.focus();
  event.preventDefault();
}

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
