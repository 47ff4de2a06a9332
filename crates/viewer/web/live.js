// @ts-check
// The start of the live page: the list of sessions, or one session. The address names what is shown.

import { Actions, entryLink } from "./actions.js";
import { Composer } from "./composer.js";
import { Connection, fetchJson } from "./connection.js";
import { connectControls } from "./controls.js";
import { announce, byId, element, fragment, isNarrow, isPageKey, preferences, visibleText } from "./dom.js";
import { DraftView } from "./drafts.js";
import { early } from "./early.js";
import { showKeys } from "./keys.js";
import { LabelEditor } from "./label_editor.js";
import { LiveSession } from "./live_session.js";
import { QuestionView } from "./questions.js";
import { ScrollKeeper } from "./scroll.js";
import { SessionList, sessionRef } from "./session_list.js";
import { StatusView } from "./status.js";
import { showTaskActions } from "./task_actions.js";
import { TranscriptView } from "./transcript.js";
import { TreeView, previewText } from "./tree.js";
import { addressOf, decodeView, keptViews, readAddress } from "./view.js";

/** The longest reply that is read aloud. */
const MAX_SPOKEN = 1000;
/** The address follows the reader after this pause, in milliseconds: browsers limit how often it changes. */
const VIEW_PAUSE = 400;

/** At the end, with everything as it is at first. */
const NEW_VIEW = decodeView(new URLSearchParams());

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
      print: () => this.print(),
    });
    this.labels = new LabelEditor(this.tree, this.actions);
    this.list = new SessionList(this.connection, {
      open: (card, entryId) => this.goTo(card.id, entryId ?? null, { target: "listed", session: sessionRef(card) }),
      create: (options) => this.create(options),
      deleted: (id) => id === store.sessionMeta.sessionId && this.session.close(),
    });
    new DraftView(store, () => this.connection.state === "connected", () => this.actions.send({ type: "resume" }, "Continued"));
    new QuestionView(this.session);
    new StatusView(this.session);
    this.controls = connectControls({ store, tree: this.tree, transcript: this.transcript, findInBodies: (text) => this.session.search(text), leafAddress: () => entryLink(store.sessionMeta.sessionId) });
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.viewTimer = undefined;
    /** Whether a view is being restored, and must not be replaced. */
    this.isRestoring = false;
    this.wasRunning = false;
    /** Whether a turn has ended whose reply was not read aloud yet. */
    this.mustSpeak = false;
    this.knowsAccess = false;
    this.access = this.readAccess();
    this.early = this.showEarly();
    /** @type {{ sessionId: string, target: any } | null} How to open the next session; without it, by its id. */
    this.target = null;
    this.connectEvents();
  }

  connectEvents() {
    const { store } = this.session;
    this.session.onNotice = announce;
    this.session.onReturnedPrompts = (prompts) => this.composer.takeReturned(prompts);
    this.session.onEditorText = (text) => this.composer.setText(text);
    byId("show-sessions").addEventListener("click", () => this.goTo(""));
    byId("transcript").addEventListener("click", (event) => this.handleEntryClick(event));
    addEventListener("hashchange", () => this.showAddress());
    addEventListener("pagehide", () => this.saveView());
    addEventListener("resize", () => this.placeBanner());
    addEventListener("keydown", (event) => this.handleKey(event));
    this.connection.subscribe((state) => {
      this.showConnection(state);
      if (state === "connected") this.start();
    });
    byId("log-in-again").addEventListener("click", () => location.reload());
    store.subscribe((what) => {
      if (what === "status") this.showTitle();
      if (what === "selection") this.saveView();
      if (what === "view") this.saveViewSoon();
      if (what === "runtime") this.speak();
    });
  }

  /** Shows the end of the session that the address names, before the connection is there. */
  showEarly() {
    if (!early || keptViews.get(early.sessionId).at) return null;
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
    // A session that is shown connects by itself.
    const { sessionId } = this.session.store.sessionMeta;
    if (sessionId && sessionId === this.sessionInAddress() && document.body.dataset["session"] === sessionId) return;
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
    this.mustSpeak ||= this.wasRunning && !store.turnRunning;
    this.wasRunning = store.turnRunning;
    if (!this.mustSpeak || !this.session.isSettled) return;
    this.mustSpeak = false;
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
    this.target = target && { sessionId, target };
    const hash = sessionId ? new URL(entryLink(sessionId, entryId ?? undefined)).hash : "#";
    if (location.hash === hash || (hash === "#" && location.hash === "")) this.showAddress();
    else location.hash = hash;
  }

  /** Shows what the address names. */
  async showAddress() {
    if (this.connection.state !== "connected") return;
    const { access } = this.connection;
    const { sessionId, view } = readAddress();
    if (access.access === "read_session" && sessionId !== access.sessionId) {
      return this.goTo(access.sessionId, null, { target: "listed", session: access.session });
    }
    document.body.classList.toggle("at-home", !sessionId);
    if (!sessionId) return this.showHome();
    const { store } = this.session;
    if (store.sessionMeta.sessionId === sessionId) {
      document.body.dataset["session"] = sessionId;
      if (view && store.isComplete) await this.applyView(view);
      else if (!store.isLeafSelected()) this.scroll.follow();
      return;
    }
    const known = this.target?.sessionId === sessionId ? this.target.target : { target: "named", name: sessionId };
    const target = access.access === "read_session" ? { target: "listed", session: access.session } : known;
    if ((await this.open(target, view)) || this.connection.isReadOnly) return;
    // It cannot be opened, so the page stays where it was.
    if (this.sessionInAddress() !== sessionId) return;
    if (!store.sessionMeta.sessionId) return this.goTo("");
    document.body.dataset["session"] = store.sessionMeta.sessionId;
    history.replaceState(null, "", entryLink(store.sessionMeta.sessionId));
    this.saveView();
  }

  showHome() {
    this.session.close();
    delete document.body.dataset["session"];
    document.title = "Osier";
    byId("title").textContent = "Osier";
    this.list.read();
    if (!isNarrow()) byId("session-search").focus();
  }

  /**
   * Opens a session. Returns false if it cannot be opened: then the page shows what it showed.
   * @param {any} target @param {import("./view.js").View | null} view Where to be in it; by default, where this browser was.
   */
  async open(target, view) {
    this.target = null;
    delete document.body.dataset["session"];
    const early = this.early?.sessionId === this.sessionInAddress() ? this.early?.shown : null;
    this.early = null;
    try {
      this.scroll.begin();
      this.isRestoring = true;
      const info = await this.session.open(target, early);
      if (!info) return true;
      preferences.set("session", info.id);
      this.showTitle();
      byId("offline").hidden = !info.isOfflineOnly;
      if (info.editorText) this.composer.setText(info.editorText);
      if (!this.connection.isReadOnly) for (const notice of info.notices ?? []) announce(notice);
      await this.applyView(view ?? keptViews.get(info.id));
      if (!isNarrow()) byId("prompt").focus({ preventScroll: true });
      document.body.dataset["session"] = info.id;
      return true;
    } catch (error) {
      const { code, message } = /** @type {any} */ (error);
      // The page opens it when the connection is back.
      if (code === "connection_lost") return true;
      announce(message);
      return false;
    } finally {
      this.isRestoring = false;
    }
  }

  /** Shows the tree and the conversation as they were. @param {import("./view.js").View} view */
  async applyView(view) {
    const { store } = this.session;
    const { controls, transcript, tree } = this;
    const wasRestoring = this.isRestoring;
    this.isRestoring = true;
    try {
      controls.setFilter(view.filter);
      controls.setSearch(view.find);
      if (!isNarrow()) controls.showTree(!view.isTreeClosed);
      store.showHidden(view.open.includes("hidden"));
      controls.openThinking(view.open.includes("thinking"));
      controls.openOutput(view.open.includes("output"));
      const single = (/** @type {string[]} */ parts, /** @type {boolean} */ isOpen) => parts.map((part) => /** @type {[string, boolean]} */ ([part, isOpen]));
      transcript.setToggled(new Map([...single(view.open, true), ...single(view.closed, false)]));
      controls.foldBranches(view.folded.includes("all"));
      tree.fold(view.folded);
      if (view.entry && !store.entryById.has(view.entry)) announce(`This session has no entry ${view.entry}`);
      if (view.entry && store.entryById.has(view.entry)) this.select(view.entry);
      else store.showLeaf();
      if (view.at) await this.scroll.restore(view.at);
      else if (view.entry && store.entryById.has(view.entry)) await transcript.scrollTo(view.entry);
      else this.scroll.follow();
      if (view.row) tree.scrollToEntry(view.row);
    } finally {
      this.isRestoring = wasRestoring;
    }
    this.saveViewSoon();
  }

  sessionInAddress() {
    return readAddress().sessionId;
  }

  /** @returns {import("./view.js").View} */
  view() {
    const { store } = this.session;
    const { openParts, toggled } = this.transcript;
    const single = (/** @type {boolean} */ isOpen) => [...toggled].filter(([, value]) => value === isOpen).map(([part]) => part);
    return {
      entry: store.isLeafSelected() ? null : store.selectedEntryId,
      at: this.scroll.place(),
      row: this.tree.topId(),
      filter: this.tree.options.filter,
      find: /** @type {HTMLInputElement} */ (byId("search")).value,
      folded: this.tree.foldedIds(),
      open: [...["thinking", "output"].filter((part) => openParts[part]), ...(store.showsHidden ? ["hidden"] : []), ...single(true)],
      closed: single(false),
      isTreeClosed: this.controls.isTreeClosed(),
    };
  }

  saveViewSoon() {
    clearTimeout(this.viewTimer);
    this.viewTimer = setTimeout(() => this.saveView(), VIEW_PAUSE);
  }

  /** Keeps where the reader is, in the address and in this browser. */
  saveView() {
    clearTimeout(this.viewTimer);
    const { store } = this.session;
    const { sessionId } = store.sessionMeta;
    if (this.isRestoring || !store.isComplete || this.sessionInAddress() !== sessionId) return;
    const view = this.view();
    keptViews.set(sessionId, view);
    const address = addressOf(sessionId, view);
    if (address === location.href) return;
    try {
      history.replaceState(null, "", address);
    } catch {
      // Too often for this browser; the next change is not.
    }
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
    const { sessionId: from } = this.session.store.sessionMeta;
    const isOpen = await this.open(target, NEW_VIEW);
    const { sessionId } = this.session.store.sessionMeta;
    if (sessionId) document.body.dataset["session"] = sessionId;
    if (!isOpen || !sessionId || sessionId === from) return;
    history.pushState(null, "", entryLink(sessionId));
    announce("Forked to a new session");
  }

  /** Selects an entry and moves it into view. @param {string} id */
  show(id) {
    if (!this.select(id)) return;
    this.transcript.scrollTo(id);
    this.saveView();
  }

  /** @param {string} id */
  select(id) {
    if (!this.session.store.select(id)) return false;
    this.scroll.isFollowing = false;
    return true;
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

  /** Prints the conversation. The browser does not wait for entries, so they are fetched first. */
  async print() {
    try {
      const wasPrepared = await this.transcript.preparePrint((done, all) => announce(`Preparing ${done} of ${all} entries…`));
      if (wasPrepared) window.print();
    } catch (error) {
      announce(/** @type {Error} */ (error).message);
    }
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    if (isPrintKey(event) && !document.body.matches(".at-home") && !document.querySelector("dialog[open]")) {
      event.preventDefault();
      return void this.print();
    }
    if (!isPageKey(event) || document.body.matches(".at-home")) return;
    if (event.key === "?") return void showKeys();
    const selected = this.session.store.selectedEntryId;
    if (this.connection.isReadOnly && event.key !== "m") return;
    if (event.key === "s") this.goTo("");
    else if (event.key === "p") byId("prompt").focus();
    else if (event.key === "m" && selected) this.openSelectedMenu(selected);
    else if (event.key === "l" && selected) this.labels.edit(selected);
    else if (event.key === "Escape" && this.session.store.isWorking()) this.composer.cancel();
    else return;
    event.preventDefault();
  }

  /** @param {string} id */
  openSelectedMenu(id) {
    const row = document.querySelector(".row.selected") ?? document.getElementById(`entry-${id}`) ?? byId("tree");
    this.actions.openEntryMenu(this.tree.cursorId() ?? id, row);
  }
}

/** @param {KeyboardEvent} event */
function isPrintKey(event) {
  const isCommand = /^(?:Mac|iP)/u.test(navigator.platform) ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
  return isCommand && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "p";
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
