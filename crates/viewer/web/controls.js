// @ts-check
// The controls around the tree and the conversation: search, filter, folding, theme and keys.

import { announce, applyTheme, byId, isNarrow, isPageKey, preferences, visibleText } from "./dom.js";
import { connectParts } from "./entry_parts.js";
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
  const search = connectSearch(page);
  const toggles = connectToggles(page);
  connectTheme();
  const sidebar = connectSidebar(page.store);
  connectKeys(page.store);
  connectParts();
  const back = byId("back-to-leaf");
  back.addEventListener("click", () => {
    page.store.showLeaf();
    page.transcript.scrollTo(page.store.selectedEntryId ?? "");
    history.replaceState(null, "", page.leafAddress?.() ?? "#");
  });
  page.store.subscribe(() => (back.hidden = page.store.isAtLeaf()));
  return { ...search, ...toggles, ...sidebar };
}

/** The whole text is searched this long after the last key, in milliseconds. */
const SEARCH_PAUSE = 150;

/** @param {Page} page */
function connectSearch({ store, tree, findInBodies }) {
  const search = /** @type {HTMLInputElement} */ (byId("search"));
  const filter = /** @type {HTMLSelectElement} */ (byId("filter"));
  const unfold = () => {
    tree.options.folded = new Set();
    tree.isFolded = false;
    byId("fold-branches").setAttribute("aria-pressed", "false");
  };
  filter.addEventListener("change", () => {
    tree.options.filter = filter.value;
    unfold();
    tree.update();
    store.notify("view");
  });
  let current = 0;
  const find = async () => {
    const number = ++current;
    const words = searchWords(search.value);
    Object.assign(tree.options, { words, matches: undefined });
    unfold();
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
  };
  search.addEventListener("input", () => {
    find();
    store.notify("view");
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") byId("tree").focus();
  });
  return {
    /** @param {string} value */
    setFilter(value) {
      filter.value = value;
      // An address can name anything.
      if (filter.selectedIndex < 0) filter.value = "default";
      tree.options.filter = filter.value;
      unfold();
      tree.update();
    },
    /** @param {string} text */
    setSearch(text) {
      if (search.value === text && tree.options.words.length === 0) return;
      search.value = text;
      find();
    },
  };
}

/** @param {Page} page */
function connectToggles({ transcript, tree }) {
  const toggle = (/** @type {string} */ id, /** @type {(isOn: boolean) => void} */ apply) => {
    const button = byId(id);
    const set = (/** @type {boolean} */ isOn) => {
      button.setAttribute("aria-pressed", String(isOn));
      apply(isOn);
    };
    button.addEventListener("click", () => set(button.getAttribute("aria-pressed") !== "true"));
    return (/** @type {boolean} */ isOn) => String(isOn) !== button.getAttribute("aria-pressed") && set(isOn);
  };
  return {
    openThinking: toggle("toggle-thinking", (isOpen) => transcript.openAll("thinking", isOpen)),
    openOutput: toggle("toggle-output", (isOpen) => ["output", "arguments"].forEach((part) => transcript.openAll(part, isOpen))),
    foldBranches: toggle("fold-branches", (isFolded) => tree.foldBranches(isFolded)),
  };
}

/** The theme of the system, unless the other one is chosen. */
function connectTheme() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  applyTheme();
  byId("toggle-theme").addEventListener("click", () => {
    const isDark = root.dataset["theme"] ? root.dataset["theme"] === "dark" : system.matches;
    const theme = isDark ? "light" : "dark";
    if (isDark !== system.matches) delete root.dataset["theme"];
    else root.dataset["theme"] = theme;
    preferences.set("theme", root.dataset["theme"] ?? "");
  });
}

/** The tree is open beside the conversation on wide screens, and covers it on narrow ones. @param {SessionStore} store */
function connectSidebar(store) {
  const button = byId("toggle-tree");
  const show = (/** @type {boolean} */ isOpen) => {
    document.body.classList.toggle("tree-closed", !isOpen);
    button.setAttribute("aria-expanded", String(isOpen));
  };
  show(!isNarrow());
  const isClosed = () => document.body.classList.contains("tree-closed");
  button.addEventListener("click", () => {
    show(isClosed());
    store.notify("view");
  });
  byId("rows").addEventListener("click", (event) => {
    if (isNarrow() && !(/** @type {Element} */ (event.target).closest(".fold"))) show(false);
  });
  connectResize(store);
  return {
    showTree: show,
    /** Whether the tree is closed where it is open at first. */
    isTreeClosed: () => !isNarrow() && isClosed(),
  };
}

/** The width of the sidebar, in pixels, and how far an arrow key changes it. */
const MIN_SIDEBAR = 200;
const RESIZE_STEP = 24;

/** The edge of the tree is dragged, or moved with the arrow keys. @param {SessionStore} store */
function connectResize(store) {
  const handle = byId("resize-tree");
  const sidebar = byId("sidebar");
  const set = (/** @type {number} */ width) => {
    const shown = Math.round(Math.max(MIN_SIDEBAR, Math.min(width, innerWidth * 0.6)));
    document.documentElement.style.setProperty("--sidebar", `${shown}px`);
    handle.setAttribute("aria-valuenow", String(shown));
    preferences.set("sidebar", String(shown));
    store.notify("view");
  };
  const kept = Number(preferences.get("sidebar"));
  if (kept) set(kept);
  else handle.setAttribute("aria-valuenow", String(sidebar.offsetWidth || MIN_SIDEBAR));
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  handle.addEventListener("pointermove", (event) => handle.hasPointerCapture(event.pointerId) && set(event.clientX - sidebar.getBoundingClientRect().left));
  handle.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -RESIZE_STEP, ArrowRight: RESIZE_STEP }[event.key];
    if (!step) return;
    event.preventDefault();
    set(sidebar.offsetWidth + step);
  });
  handle.addEventListener("dblclick", () => {
    document.documentElement.style.removeProperty("--sidebar");
    handle.setAttribute("aria-valuenow", String(sidebar.offsetWidth));
    preferences.set("sidebar", "");
  });
}

/** @param {SessionStore} store */
function toggleHidden(store) {
  store.showHidden(!store.showsHidden);
  announce(store.showsHidden ? "Showing the hidden messages of extensions" : "Hiding the hidden messages of extensions");
}

/** What a menu offers for the view: on narrow screens there is no room for buttons. @param {SessionStore} store @returns {import("./menu.js").MenuItem[]} */
export function viewItems(store) {
  const toggle = (/** @type {string} */ id, /** @type {string} */ what, /** @type {string} */ hint) => {
    const button = byId(id);
    return { name: `${button.getAttribute("aria-pressed") === "true" ? "Close" : "Open"} all ${what}`, hint, run: () => button.click() };
  };
  return [
    toggle("toggle-thinking", "thinking", "t"),
    toggle("toggle-output", "tool output", "o"),
    { name: store.showsHidden ? "Hide hidden messages" : "Show hidden messages", hint: "h", run: () => toggleHidden(store) },
  ];
}

/** @param {SessionStore} store */
function connectKeys(store) {
  /** @type {Record<string, string>} */
  const buttons = { t: "toggle-thinking", o: "toggle-output", b: "toggle-tree" };
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    // The address names something else.
    event.preventDefault();
    byId("transcript").focus();
  });
  addEventListener("keydown", (event) => {
    if (!isPageKey(event)) return;
    const isHome = document.body.matches(".at-home");
    if (event.key === "/") {
      if (isNarrow() && !isHome && document.body.matches(".tree-closed")) byId("toggle-tree").click();
      byId(isHome ? "session-search" : "search").focus();
      event.preventDefault();
    } else if (isHome) {
      return;
    } else if (event.key === "h") {
      toggleHidden(store);
    } else if (buttons[event.key]) {
      byId(buttons[event.key]).click();
    }
  });
}
