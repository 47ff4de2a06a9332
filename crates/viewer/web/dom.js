// @ts-check
// Helpers for the document. Markup enters the page only through `fragment`, and only markup made by the viewer does.

/** @type {{ createHTML(html: string): string } | undefined} */
const trustedPolicy = globalThis["trustedTypes"]?.createPolicy("osier", { createHTML: (html) => html });

/**
 * The nodes of rendered markup.
 * @param {string} html
 * @returns {DocumentFragment}
 */
export function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = trustedPolicy ? trustedPolicy.createHTML(html) : html;
  return template.content;
}

/**
 * A new element with attributes and children. Text is never parsed as markup.
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes]
 * @param {(Node | string)[]} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  made.append(...children);
  return made;
}

/**
 * An element of the page that must exist.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found;
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @returns {SVGElement}
 */
export function svg(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

/**
 * Shows a short message and announces it to screen readers.
 * @param {string} text
 */
export function announce(text) {
  const place = byId("message");
  place.textContent = text;
  place.classList.add("shown");
  setTimeout(() => place.classList.remove("shown"), 2000);
}

/** A value kept in this browser; pages from a disk may not have a storage. */
export const preferences = {
  /** @param {string} key */
  get(key) {
    try {
      return localStorage.getItem(`osier.${key}`);
    } catch {
      return null;
    }
  },
  /** @param {string} key @param {string} value */
  set(key, value) {
    try {
      localStorage.setItem(`osier.${key}`, value);
    } catch {
      // The choice holds until the page is closed.
    }
  },
};
