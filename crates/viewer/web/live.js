// @ts-check
// The start of the live page: the list of sessions, or one session. The address names what is shown.

import { Actions, entryLink } from "./actions.js";
import { Composer } from "./composer.js";
import { Connection, fetchJson } from "./connection.js";
import { connectControls, isNarrow } from "./controls.js";
import { announce, byId, element, fragment, preferences, visibleText } from "./dom.js";
import { DraftView } from "./drafts.js";
import { early } from "./early.js";
import { LabelEditor } from "./label_editor.js";
import { LiveSession } from "./live_session.js";
import { QuestionView } from "./questions.js";
import { ScrollKeeper } from "./scroll.js";
import { SessionList, sessionRef } from "./session_list.js";
import { StatusView } from "./status.js";
import { showTaskActions } from "./task_actions.js";
import { TranscriptView } from "./transcript.js";
import { TreeView, previewText } from "./tree.js";

/** The longest reply that is read aloud. */
const MAX_SPOKEN = 1000;

class LivePage {
  constructor() {
    this.connection = new Connection();
    this.session = new LiveSession(this.connection);
    const { store, bodies } = this.session;
    this.transcript = new TranscriptView(store, (index) => bodies.get(store.entries[index].id), {
      load: (ids) => bodies.load(ids),
      link: (id) => new URL(entryLink(store.sessionMeta.sessionId, id)).hash,
      sessionLink: (id) => new URL(entryLink(id)).hash,
      showTaskActions: (card, panels) => showTaskActions(card, panels, this.session),
      drawEmpty: () => drawEmpty(store.info?.cwd),
    });
    this.tree = new TreeView(store, (id) => this.show(id));
    this.scroll = new ScrollKeeper(store, this.transcript);
    this.composer = new Composer(this.session, () => this.scroll.follow());
    this.actions = new Actions(this.session, {
      setPrompt: (text, images) => this.composer.setPrompt(text, images),
      returnPrompts: (prompts) => this.composer.returnPrompts(prompts),
      openFork: (target) => this.openFork(target),
      show: (id) => this.show(id),
      showEnd: () => this.scroll.follow(),
      openSession: (id) => this.goTo(id),
      leave: () => this.goTo(""),
    });
    this.labels = new LabelEditor(this.tree, this.actions);
    this.list = new SessionList(this.connection, {
      open: (card, entryId) => this.goTo(card.id, entryId ?? null, { target: "listed", session: sessionRef(card) }),
      create: (options) => this.create(options),
      deleted: (id) => id === store.sessionMeta.sessionId && this.session.close(),
    });
    new DraftView(store, () => this.actions.send({ type: "resume" }, "Continued"));
    new QuestionView(this.session);
    new StatusView(this.session);
    connectControls({ store, tree: this.tree, transcript: this.transcript, findInBodies: (text) => this.session.search(text), leafAddress: () => entryLink(store.sessionMeta.sessionId) });
    this.wasRunning = false;
    this.knowsAccess = false;
    this.access = this.readAccess();
    this.early = this.showEarly();
    /** @type {any} How to open the next session; without it, by its id. */
    this.target = null;
    this.connectEvents();
  }

  connectEvents() {
    const { store } = this.session;
    this.session.onNotice = announce;
    this.session.onReturnedPrompts = (prompts) => this.composer.returnPrompts(prompts);
    this.session.onEditorText = (text) => this.composer.setText(text);
    byId("show-sessions").addEventListener("click", () => this.goTo(""));
    byId("transcript").addEventListener("click", (event) => this.handleEntryClick(event));
    addEventListener("hashchange", () => this.showAddress());
    addEventListener("resize", () => this.placeBanner());
    addEventListener("keydown", (event) => this.handleKey(event));
    this.connection.subscribe((state) => {
      this.showConnection(state);
      if (state === "connected") this.start();
    });
    byId("log-in-again").addEventListener("click", () => location.reload());
    store.subscribe((what) => {
      if (what === "status") this.showTitle();
      if (what === "selection") this.nameSelection();
      if (what === "runtime") this.speak();
    });
  }

  /** Shows the end of the session that the address names, before the connection is there. */
  showEarly() {
    if (!early || this.scroll.isKept(early.sessionId)) return null;
    document.body.classList.remove("at-home");
    return { sessionId: early.sessionId, shown: this.session.showEarly(early).catch(() => {}) };
  }

  /** Finds out what the page may do. Without an answer the gateway decides with each request. */
  async readAccess() {
    this.knowsAccess = await this.connection.readAccess().then(() => true, () => false);
    const { access } = this.connection;
    document.body.classList.toggle("read-only", this.connection.isReadOnly);
    const banner = byId("read-only");
    banner.hidden = access.access === "full";
    if (access.access === "full") return;
    const until = access.expires ? ` until ${new Date(access.expires).toLocaleString()}` : "";
    banner.textContent = `Read-only: you can read and follow this session${until}. Nothing that you do here changes it.`;
  }

  async start() {
    await this.access;
    // The first question may have been lost with an earlier connection.
    if (!this.knowsAccess) await (this.access = this.readAccess());
    await this.showAddress();
  }

  showTitle() {
    const { status, visibleEntries } = this.session.store;
    const first = visibleEntries.find((row) => row.type === "message" && row.role === "user");
    const title = visibleText(status?.name || (first ? previewText(first) : status ? `Session ${status.shortId}` : "Osier"));
    byId("title").textContent = title;
    document.title = `${this.session.store.turnRunning ? "● " : ""}${title} – Osier`;
  }

  /** Tells screen readers when a turn has ended, with its last reply. */
  speak() {
    const { store, bodies } = this.session;
    const hasEnded = this.wasRunning && !store.turnRunning;
    this.wasRunning = store.turnRunning;
    if (!hasEnded) return;
    const reply = store.pathTo(store.leafIndex()).map((index) => store.entries[index]).findLast((row) => row.role === "assistant");
    const body = fragment(bodies.get(reply?.id ?? "") ?? "");
    body.querySelector(".origin")?.remove();
    byId("spoken").textContent = body.textContent?.slice(0, MAX_SPOKEN) ?? "";
  }

  /** @param {import("./connection.js").ConnectionState} state */
  showConnection(state) {
    const place = byId("connection");
    place.textContent = state === "lost" ? "Connection lost. Connecting again…" : "";
    place.hidden = state !== "lost";
    byId("logged-out").hidden = state !== "refused";
    this.placeBanner();
    document.body.dataset["connection"] = state;
  }

  /** What sticks to the top stays below the banner. */
  placeBanner() {
    document.documentElement.style.setProperty("--banner", `${byId("connection").offsetHeight}px`);
  }

  /** @param {string} sessionId @param {string | null} [entryId] @param {any} [target] */
  goTo(sessionId, entryId = null, target = null) {
    this.target = target;
    const hash = sessionId ? new URL(entryLink(sessionId, entryId ?? undefined)).hash : "#";
    if (location.hash === hash || (hash === "#" && location.hash === "")) this.showAddress();
    else location.hash = hash;
  }

  /** Shows what the address names. */
  async showAddress() {
    if (this.connection.state !== "connected") return;
    const address = new URLSearchParams(location.hash.slice(1));
    const { access } = this.connection;
    const [named, entryId] = [address.get("session"), address.get("entry")];
    if (access.access === "read_session" && named !== access.sessionId) {
      return this.goTo(access.sessionId, null, { target: "listed", session: access.session });
    }
    const sessionId = named;
    const isHome = !sessionId;
    document.body.classList.toggle("at-home", isHome);
    if (isHome) {
      this.session.close();
      delete document.body.dataset["session"];
      document.title = "Osier";
      byId("title").textContent = "Osier";
      this.list.read();
      if (!isNarrow()) byId("session-search").focus();
      return;
    }
    if (this.session.store.sessionMeta.sessionId === sessionId) {
      if (entryId && entryId !== this.session.store.selectedEntryId) this.show(entryId);
      else if (!entryId && !this.session.store.isLeafSelected()) this.scroll.follow();
      return;
    }
    const target = access.access === "read_session" ? { target: "listed", session: access.session } : this.target;
    await this.open(target ?? { target: "named", name: sessionId }, entryId);
  }

  /** @param {any} target @param {string | null} entryId */
  async open(target, entryId) {
    this.target = null;
    delete document.body.dataset["session"];
    const early = this.early?.sessionId === this.sessionInAddress() ? this.early?.shown : null;
    this.early = null;
    try {
      this.scroll.begin();
      const info = await this.session.open(target, early);
      if (!info) return;
      preferences.set("session", info.id);
      this.showTitle();
      byId("offline").hidden = !info.isOfflineOnly;
      if (info.editorText) this.composer.setText(info.editorText);
      if (!this.connection.isReadOnly) for (const notice of info.notices ?? []) announce(notice);
      if (entryId) this.show(entryId);
      else this.scroll.restore(info.id);
      if (!isNarrow()) byId("prompt").focus({ preventScroll: true });
      document.body.dataset["session"] = info.id;
    } catch (error) {
      const { code, message } = /** @type {any} */ (error);
      if (code === "connection_lost") return;
      announce(message);
      if (!this.connection.isReadOnly) this.goTo("");
    }
  }

  sessionInAddress() {
    return new URLSearchParams(location.hash.slice(1)).get("session");
  }

  /** @param {any} options */
  async create({ name, ...options }) {
    try {
      const created = await fetchJson("/api/sessions", { ...options, ...(name ? { title: name } : {}) });
      this.goTo(created.sessionId ?? created.id);
    } catch (error) {
      announce(/** @type {Error} */ (error).message);
    }
  }

  /** @param {object} target */
  async openFork(target) {
    await this.open(target, null);
    const { sessionId } = this.session.store.sessionMeta;
    if (sessionId) history.pushState(null, "", entryLink(sessionId));
    announce("Forked to a new session");
  }

  /** The address names the selected entry, unless it is the leaf: a refresh shows the same, also when the leaf has moved on. */
  nameSelection() {
    const { store } = this.session;
    const { sessionId } = store.sessionMeta;
    if (!store.isComplete || this.sessionInAddress() !== sessionId) return;
    const address = entryLink(sessionId, store.isLeafSelected() ? undefined : store.selectedEntryId ?? undefined);
    if (address !== location.href) history.replaceState(null, "", address);
  }

  /** Selects an entry and moves it into view. @param {string} id */
  show(id) {
    const { store } = this.session;
    if (!store.select(id)) return;
    this.scroll.isFollowing = false;
    this.transcript.scrollTo(id);
    history.replaceState(null, "", entryLink(store.sessionMeta.sessionId, id));
  }

  /** @param {MouseEvent} event */
  handleEntryClick(event) {
    const target = /** @type {Element} */ (event.target);
    const id = target.closest(".entry")?.getAttribute("data-id");
    if (!id) return;
    const menu = target.closest("button.entry-menu");
    if (menu) return this.actions.openEntryMenu(id, menu);
    const link = target.closest("a.permalink");
    if (link) {
      event.preventDefault();
      this.show(id);
    }
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    const isTyping = /** @type {Element} */ (event.target).matches?.("input, select, textarea");
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    const selected = this.session.store.selectedEntryId;
    if (this.connection.isReadOnly && event.key !== "m") return;
    if (event.key === "s") this.goTo("");
    else if (event.key === "p") byId("prompt").focus();
    else if (event.key === "m" && selected) this.openSelectedMenu(selected);
    else if (event.key === "l" && selected) this.labels.edit(selected);
    else if (event.key === "Escape" && this.session.store.turnRunning) this.composer.cancel();
    else return;
    event.preventDefault();
  }

  /** @param {string} id */
  openSelectedMenu(id) {
    const row = document.querySelector(".row.selected") ?? document.getElementById(`entry-${id}`) ?? byId("tree");
    this.actions.openEntryMenu(this.tree.cursorId() ?? id, row);
  }
}

/** What a session without messages shows. @param {string | undefined} cwd */
function drawEmpty(cwd) {
  const empty = element("div", { class: "empty" });
  if (!cwd) return empty;
  empty.append(
    element("h2", {}, "What should Osier do?"),
    element("p", {}, "It works in ", element("code", { dir: "auto" }, cwd), "."),
    element("p", {}, "Every prompt becomes an entry of the tree. Select any entry to continue from there."),
  );
  return empty;
}

history.scrollRestoration = "manual";
new LivePage();
