// @ts-check
// All sessions of all stores: search, start, rename, delete. Forks are listed below the session that they come from.

import { Connection } from "./connection.js";
import { askDialog } from "./dialog.js";
import { announce, byId, element, visibleText } from "./dom.js";
import { drawHits } from "./hits.js";
import { openMenu } from "./menu.js";
import { plainText } from "./tree.js";

const PAGE = 200;
/** The most matching messages of a session that a search shows. */
const MAX_HITS = 3;
/** The lines before and after a match. */
const CONTEXT_LINES = 1;
/** The most directories that are suggested for a new session. */
const MAX_SUGGESTIONS = 50;

export class SessionList {
  /**
   * @param {Connection} connection
   * @param {{ open: (card: any, entryId?: string) => void, create: (options: object) => void, deleted: (id: string) => void }} actions
   */
  constructor(connection, actions) {
    this.connection = connection;
    this.actions = actions;
    /** @type {any[]} */
    this.cards = [];
    this.limit = PAGE;
    /** @type {any} */
    this.engine = null;
    this.current = 0;
    /** @type {any} */
    this.timer = 0;
    const search = byId("session-search");
    search.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.read(), 120);
    });
    for (const id of ["session-agent", "session-store", "session-named"]) byId(id).addEventListener("change", () => this.read());
    byId("find-sessions").addEventListener("submit", (event) => event.preventDefault());
    byId("new-session").addEventListener("click", () => this.startNew());
    const list = byId("sessions");
    list.addEventListener("click", (event) => this.handleClick(event));
    list.addEventListener("keydown", (event) => this.handleKey(event));
    search.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") list.querySelector("a")?.focus();
      if (event.key === "Enter") list.querySelector("a")?.click();
    });
  }

  async read() {
    const number = ++this.current;
    const value = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (byId(id)).value || undefined;
    const named = /** @type {HTMLInputElement} */ (byId("session-named")).checked;
    const filter = { query: value("session-search"), agentId: value("session-agent"), store: value("session-store"), named, limit: this.limit, hits: MAX_HITS, context: CONTEXT_LINES };
    try {
      if (!this.engine) await this.readEngine();
      const list = await this.connection.call({ type: "list_sessions", ...filter });
      if (number === this.current) this.draw(list, filter.query);
    } catch (error) {
      if (number === this.current) this.drawError(/** @type {any} */ (error));
    }
  }

  /** Shows why there are no results. Without a connection, the earlier ones stay. @param {{ code: string, message: string }} error */
  drawError({ code, message }) {
    showProblems([message]);
    if (code === "connection_lost") return;
    this.cards = [];
    byId("sessions").replaceChildren();
    byId("list-status").replaceChildren();
  }

  async readEngine() {
    this.engine = await this.connection.call({ type: "describe" });
    const fill = (/** @type {string} */ id, /** @type {string[]} */ names) => {
      byId(id).hidden = names.length < 2;
      byId(id).append(...names.map((name) => element("option", { value: name }, name)));
    };
    fill("session-store", this.engine.stores.map((/** @type {any} */ store) => store.name));
    this.addAgents(this.engine.agents);
  }

  /** Offers agents as a filter. Sessions may have agents that no setting names any more. @param {string[]} names */
  addAgents(names) {
    const select = /** @type {HTMLSelectElement} */ (byId("session-agent"));
    const known = new Set([...select.options].map((option) => option.value));
    select.append(...[...new Set(names)].filter((name) => !known.has(name)).map((name) => element("option", { value: name }, name)));
    // The first one stands for all agents.
    select.hidden = select.options.length < 3;
  }

  /** @param {any} list @param {string | undefined} query */
  draw(list, query) {
    const isSearch = query !== undefined;
    this.cards = isSearch ? list.sessions.map((/** @type {any} */ card) => ({ card, depth: 0 })) : threads(list.sessions);
    byId("sessions").replaceChildren(...this.cards.map(({ card, depth }, at) => drawCard(card, depth, at, isSearch ? drawHits(card.id, list.hits?.[at] ?? [], query) : null)));
    this.addAgents(list.sessions.map((/** @type {any} */ card) => card.agentId));
    showProblems(list.problems ?? []);
    const status = byId("list-status");
    const isFiltered = isSearch || ["session-agent", "session-store"].some((id) => /** @type {HTMLSelectElement} */ (byId(id)).value) || /** @type {HTMLInputElement} */ (byId("session-named")).checked;
    status.textContent = this.cards.length > 0 || !isFiltered ? "" : "No session matches";
    if (this.cards.length === 0 && !isFiltered) status.replaceChildren(drawWelcome(() => this.startNew()));
    if (list.hasMore) {
      const more = element("button", { type: "button" }, "Show more");
      more.addEventListener("click", () => {
        this.limit *= 4;
        this.read();
      });
      status.replaceChildren(more);
    }
  }

  /** @param {MouseEvent} event */
  handleClick(event) {
    const target = /** @type {Element} */ (event.target);
    const at = Number(target.closest("[data-at]")?.getAttribute("data-at") ?? -1);
    const card = this.cards[at]?.card;
    if (!card) return;
    if (target.closest("button")) return this.openCardMenu(card, /** @type {Element} */ (target.closest("button")));
    if (!target.closest("a") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.actions.open(card, target.closest("[data-entry]")?.getAttribute("data-entry") ?? undefined);
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    const links = /** @type {HTMLElement[]} */ ([...byId("sessions").querySelectorAll("a")]);
    const at = links.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (at < 0 || !["ArrowDown", "ArrowUp", "Delete"].includes(event.key)) return;
    event.preventDefault();
    if (event.key === "Delete") return void this.remove(this.cards[Number(links[at].closest("li[data-at]")?.getAttribute("data-at"))].card);
    const next = at + (event.key === "ArrowDown" ? 1 : -1);
    (links[next] ?? byId("session-search")).focus();
  }

  /** @param {any} card @param {Element} anchor */
  openCardMenu(card, anchor) {
    openMenu(
      [
        { name: "Open", run: () => this.actions.open(card) },
        { name: "Rename…", run: () => this.rename(card) },
        null,
        { name: "Delete…", run: () => this.remove(card), isDangerous: true },
      ],
      anchor,
    );
  }

  /** @param {any} card */
  async rename(card) {
    const answer = await askDialog({ title: "Rename the session", fields: [{ name: "name", label: "Name", value: card.name ?? "" }], action: "Rename" });
    if (answer) await this.run(() => this.connection.call({ type: "rename_session", session: sessionRef(card), name: answer["name"] }), "Renamed");
  }

  /** @param {any} card */
  async remove(card) {
    const answer = await askDialog({
      title: `Delete “${titleOf(card)}”?`,
      text: `${card.entryCount} entries will be removed from the store ${card.store}. This cannot be undone.`,
      action: "Delete",
      isDangerous: true,
    });
    if (!answer) return;
    this.actions.deleted(card.id);
    await this.run(() => this.connection.deleteSession(sessionRef(card)), "Deleted");
  }

  /** @param {() => Promise<any>} work @param {string} done */
  async run(work, done) {
    try {
      const reply = await work();
      announce(reply.type === "cancelled" ? "A hook refused" : done);
    } catch (error) {
      announce(/** @type {Error} */ (error).message);
    }
    this.read();
  }

  /** The directories that are allowed, and those of the listed sessions in them. */
  knownDirectories() {
    const { directories } = this.engine;
    const used = this.cards.map(({ card }) => card.cwd).filter((cwd) => directories.some((/** @type {string} */ allowed) => isBelow(cwd, allowed)));
    // The browser draws these, so hidden characters would not be codes.
    return [...new Set([...directories, ...used])].filter((directory) => visibleText(directory) === directory).slice(0, MAX_SUGGESTIONS);
  }

  async startNew() {
    if (!this.engine) await this.readEngine();
    const { directories, agents, stores } = this.engine;
    const storeNames = stores.map((/** @type {any} */ store) => store.name);
    /** @type {import("./dialog.js").Field[]} */
    const fields = [{ name: "cwd", label: "Directory", value: directories[0] ?? "", suggestions: this.knownDirectories() }];
    if (agents.length > 1) fields.push({ name: "agentId", label: "Agent", choices: agents });
    if (storeNames.length > 1) fields.push({ name: "store", label: "Store", choices: storeNames });
    fields.push({ name: "name", label: "Name (optional)" });
    const answer = await askDialog({ title: "New session", text: directoriesText(directories), fields, action: "Start" });
    if (!answer) return;
    this.actions.create(Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== "")));
  }
}

/** Shows problems below the search field. @param {string[]} problems */
function showProblems(problems) {
  const shown = byId("list-problems");
  shown.hidden = problems.length === 0;
  shown.textContent = visibleText(problems.join(" "));
}

/** Whether a directory is the other one, or below it. @param {string} directory @param {string} above */
function isBelow(directory, above) {
  return directory === above || directory.startsWith(above.endsWith("/") ? above : `${above}/`);
}

/** @param {string[]} directories */
function directoriesText(directories) {
  return directories.length > 1 ? `Sessions can work in ${directories.join(", ")}, and below.` : "";
}

/** @param {any} card */
export function sessionRef(card) {
  return { store: card.store, key: card.file ?? card.id };
}

/** @param {any} card */
export function titleOf(card) {
  return card.name || plainText(card.firstMessage ?? "") || "Empty session";
}

/** Sessions in their order, each with its forks below it. @param {any[]} sessions */
function threads(sessions) {
  const ids = new Set(sessions.map((card) => card.id));
  const isFork = (/** @type {any} */ card) => ids.has(card.parentSessionId) && card.parentSessionId !== card.id;
  /** @type {Map<string, any[]>} */
  const below = new Map();
  for (const card of sessions.filter(isFork)) {
    const forks = below.get(card.parentSessionId);
    if (forks) forks.push(card);
    else below.set(card.parentSessionId, [card]);
  }
  /** @type {{ card: any, depth: number }[]} */
  const rows = [];
  const listed = new Set();
  const list = (/** @type {any} */ first) => {
    const open = [{ card: first, depth: 0 }];
    while (open.length > 0) {
      const row = /** @type {{ card: any, depth: number }} */ (open.pop());
      if (listed.has(row.card)) continue;
      listed.add(row.card);
      rows.push(row);
      for (const card of (below.get(row.card.id) ?? []).reverse()) open.push({ card, depth: row.depth + 1 });
      below.delete(row.card.id);
    }
  };
  for (const card of sessions) if (!isFork(card)) list(card);
  // Sessions that name each other as their parents.
  for (const card of sessions) list(card);
  return rows;
}

/** @param {any} card @param {number} depth @param {number} at @param {HTMLElement | null} hits The lines that match. */
function drawCard(card, depth, at, hits) {
  const facts = [
    `${card.messageCount} ${card.messageCount === 1 ? "message" : "messages"}`,
    card.branches > 1 ? `${card.branches} branches` : "",
    card.agentId !== "main" ? card.agentId : "",
    card.store !== "file" ? card.store : "",
    card.cost > 0 ? `$${card.cost.toFixed(2)}` : "",
    shortPath(card.cwd),
  ];
  const link = element(
    "a",
    { href: `#session=${encodeURIComponent(card.id)}`, class: "session-link" },
    element("span", { class: card.name ? "session-title named" : "session-title", dir: "auto" }, titleOf(card)),
    element("span", { class: "session-facts" }, facts.filter(Boolean).join(" · ")),
    element("time", { datetime: card.modified, title: new Date(card.modified).toLocaleString() }, ago(card.modified)),
  );
  const item = element("li", { "data-at": at, class: depth > 0 ? "fork" : null }, link, element("button", { type: "button", class: "quiet", "aria-label": `Actions of ${titleOf(card)}`, "aria-haspopup": "menu" }, "⋯"), ...(hits?.firstChild ? [hits] : []));
  item.style.setProperty("--depth", String(Math.min(depth, 5)));
  return item;
}

/** What a list without sessions shows. @param {() => void} onStart */
function drawWelcome(onStart) {
  const start = element("button", { type: "button", class: "primary" }, "Start the first session");
  start.addEventListener("click", onStart);
  return element("span", { class: "empty" }, element("b", {}, "No sessions yet"), element("span", {}, "Sessions that you start here or in the terminal are listed on this page."), start);
}

/** @param {string} path */
function shortPath(path) {
  return path.split("/").filter(Boolean).slice(-2).join("/");
}

/** @param {string} time */
function ago(time) {
  const seconds = (Date.now() - new Date(time).getTime()) / 1000;
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  if (seconds < 7 * 86_400) return `${Math.floor(seconds / 86_400)} d`;
  const date = new Date(time);
  const isThisYear = date.getFullYear() === new Date().getFullYear();
  return date.toLocaleDateString([], { day: "numeric", month: "short", ...(isThisYear ? {} : { year: "numeric" }) });
}
