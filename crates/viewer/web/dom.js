// @ts-check
// Helpers for the document. Markup enters the page only through `fragment`, and only markup made by the viewer does.

/** @type {{ createHTML(html: string): string } | undefined} Browsers without trusted types have none. */
const trustedPolicy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("osier", { createHTML: (/** @type {string} */ html) => html });

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

/** Characters that people cannot see or that change the direction of text, except line feeds, tabs and joiners. */
const HIDDEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;

const PLAIN = /^[\n\t\x20-\x7e]*$/u;

/**
 * Text in which hidden characters are codes, as in the bodies of entries.
 * @param {string} text
 */
export function visibleText(text) {
  // Most texts have only characters that everybody sees.
  return PLAIN.test(text) ? text : text.replace(HIDDEN, (ch) => `U+${/** @type {number} */ (ch.codePointAt(0)).toString(16).toUpperCase().padStart(4, "0")}`);
}

/** Attributes that people read or hear. */
const TEXT_ATTRIBUTES = new Set(["title", "placeholder", "aria-label"]);

/**
 * A new element with attributes and children. Text is never parsed as markup, and shows hidden characters.
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes]
 * @param {(Node | string)[]} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, TEXT_ATTRIBUTES.has(name) ? visibleText(String(value)) : String(value));
  }
  made.append(...children.map((child) => (typeof child === "string" ? visibleText(child) : child)));
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

const NARROW = matchMedia("(max-width: 800px)");

/** Whether the tree covers the conversation. */
export function isNarrow() {
  return NARROW.matches;
}

/** Calls it now, and when the window becomes narrow or wide. @param {(isNarrow: boolean) => void} apply */
export function onNarrow(apply) {
  apply(NARROW.matches);
  NARROW.addEventListener("change", () => apply(NARROW.matches));
}

/** Whether a key is a command to the page: not typed into a field, and neither a menu nor a dialog is open. @param {KeyboardEvent} event */
export function isPageKey(event) {
  const isTyping = /** @type {Element} */ (event.target).matches?.("input, select, textarea");
  return !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey && !document.querySelector("dialog[open], :popover-open");
}

/** What was drawn last in each place. @type {WeakMap<Element, string>} */
const drawnStates = new WeakMap();

/**
 * Draws a place only if what it shows has changed: a button that is replaced loses the focus, and a status that is replaced is read
 * aloud again.
 * @param {Element} place @param {any} state What is shown, as plain data. @param {() => (Node | string)[]} draw
 */
export function drawIfChanged(place, state, draw) {
  const drawn = JSON.stringify(state);
  if (drawnStates.get(place) === drawn) return;
  drawnStates.set(place, drawn);
  place.replaceChildren(...draw());
}

/** Applies the theme that was chosen, if it is not that of the system. */
export function applyTheme() {
  const chosen = preferences.get("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset["theme"] = chosen;
}

/** The longest message that is shown. */
const MAX_MESSAGE = 1_000;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let messageTimer;

/**
 * Shows a short message, for as long as it takes to read it, and announces it to screen readers.
 * @param {string} text
 */
export function announce(text) {
  const place = byId("message");
  place.textContent = visibleText(text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text);
  place.classList.add("shown");
  clearTimeout(messageTimer);
  messageTimer = setTimeout(() => place.classList.remove("shown"), 1500 + 50 * Math.min(text.length, MAX_MESSAGE));
}

/** Copies a text, also where the browser has no clipboard for pages: those without HTTPS from another machine. @param {string} text */
export async function copyToClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copySelected(text)) throw new Error("Cannot copy: the browser does not allow it here");
  }
}

/** @param {string} text */
function copySelected(text) {
  const shown = /** @type {HTMLElement | null} */ (document.activeElement);
  const area = /** @type {HTMLTextAreaElement} */ (element("textarea", { class: "visually-hidden", "aria-hidden": "true", readonly: true }));
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  shown?.focus({ preventScroll: true });
  return isCopied;
}

/** Offers a file for download. @param {Blob} content @param {string} name */
export function saveFile(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
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
