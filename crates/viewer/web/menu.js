// @ts-check
// Menus. They keep the focus inside and give it back.

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
