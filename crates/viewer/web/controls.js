// @ts-check
// The controls around the tree and the conversation: search, filter, folding, theme and keys.

import { byId, preferences, visibleText } from "./dom.js";
import { searchWords } from "./outline.js";
import { TreeOverview } from "./overview.js";
import { SessionStore } from "./state.js";
import { TranscriptView } from "./transcript.js";
import { TreeView } from "./tree.js";

/**
 * @typedef {Object} Page
 * @property {SessionStore} store
 * @property {TreeView} tree
 * @property {TranscriptView} transcript
 * @property {() => string} [leafAddress] The address of the page without an entry.
 * @property {(text: string, isCurrent: () => boolean) => Promise<Set<number>>} findInBodies The entries whose whole text matches.
 */

/** @param {Page} page */
export function connectControls(page) {
  new TreeOverview(page.tree);
  connectSearch(page);
  connectToggles(page);
  connectTheme();
  connectSidebar();
  connectKeys();
  const back = byId("back-to-leaf");
  back.addEventListener("click", () => {
    page.store.showLeaf();
    page.transcript.scrollTo(page.store.selectedEntryId ?? "");
    history.replaceState(null, "", page.leafAddress?.() ?? "#");
  });
  page.store.subscribe(() => (back.hidden = page.store.isAtLeaf()));
}

/** The whole text is searched this long after the last key, in milliseconds. */
const SEARCH_PAUSE = 150;

/** @param {Page} page */
function connectSearch({ tree, findInBodies }) {
  const search = /** @type {HTMLInputElement} */ (byId("search"));
  const filter = /** @type {HTMLSelectElement} */ (byId("filter"));
  filter.addEventListener("change", () => {
    tree.options.filter = filter.value;
    tree.options.folded = new Set();
    tree.update();
  });
  let current = 0;
  search.addEventListener("input", async () => {
    const number = ++current;
    const words = searchWords(search.value);
    Object.assign(tree.options, { words, matches: undefined, folded: new Set() });
    tree.update();
    if (words.length === 0) return;
    const isCurrent = () => number === current;
    await new Promise((resume) => setTimeout(resume, SEARCH_PAUSE));
    if (!isCurrent()) return;
    try {
      const matches = await findInBodies(search.value, isCurrent);
      if (!isCurrent()) return;
      tree.options.matches = matches;
      tree.update();
    } catch (error) {
      if (isCurrent()) byId("tree-status").textContent = visibleText(/** @type {Error} */ (error).message);
    }
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") byId("tree").focus();
  });
}

/** @param {Page} page */
function connectToggles({ transcript, tree }) {
  const toggle = (/** @type {string} */ id, /** @type {(isOn: boolean) => void} */ apply) => {
    const button = byId(id);
    button.addEventListener("click", () => {
      const isOn = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(isOn));
      apply(isOn);
    });
  };
  toggle("toggle-thinking", (isOpen) => transcript.openAll("thinking", isOpen));
  toggle("toggle-output", (isOpen) => ["output", "arguments"].forEach((part) => transcript.openAll(part, isOpen)));
  toggle("fold-branches", (isFolded) => tree.foldBranches(isFolded));
}

/** The theme of the system, until another one is chosen. */
function connectTheme() {
  const root = document.documentElement;
  const chosen = preferences.get("theme");
  if (chosen === "light" || chosen === "dark") root.dataset["theme"] = chosen;
  byId("toggle-theme").addEventListener("click", () => {
    const isDark = root.dataset["theme"]
      ? root.dataset["theme"] === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset["theme"] = isDark ? "light" : "dark";
    preferences.set("theme", root.dataset["theme"]);
  });
}

/** The tree is open beside the conversation on wide screens, and covers it on narrow ones. */
function connectSidebar() {
  const button = byId("toggle-tree");
  const show = (/** @type {boolean} */ isOpen) => {
    document.body.classList.toggle("tree-closed", !isOpen);
    button.setAttribute("aria-expanded", String(isOpen));
  };
  show(!isNarrow());
  button.addEventListener("click", () => show(document.body.classList.contains("tree-closed")));
  byId("rows").addEventListener("click", (event) => {
    if (isNarrow() && !(/** @type {Element} */ (event.target).closest(".fold"))) show(false);
  });
}

export function isNarrow() {
  return matchMedia("(max-width: 800px)").matches;
}

function connectKeys() {
  /** @type {Record<string, string>} */
  const buttons = { t: "toggle-thinking", o: "toggle-output", b: "toggle-tree" };
  addEventListener("keydown", (event) => {
    const isTyping = /** @type {Element} */ (event.target).matches?.("input, select, textarea");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      byId("search").focus();
      event.preventDefault();
    } else if (buttons[event.key]) {
      byId(buttons[event.key]).click();
    }
  });
}
