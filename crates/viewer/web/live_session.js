// @ts-check
// One open session: reads it, follows its events, and sends commands. After a lost connection or a gap, it reads again from
// where it was, so nothing is lost or shown twice.

import { Bodies } from "./bodies.js";
import { Connection, EngineError, fetchJson } from "./connection.js";
import { LiveStore } from "./live_state.js";

/** The entries of the first screen. */
const FIRST_ENTRIES = 40;
/** How long a move may take until the page asks what happened. */
const MOVE_TIMEOUT = 30_000;

export class LiveSession {
  /** @param {Connection} connection */
  constructor(connection) {
    this.connection = connection;
    this.store = new LiveStore();
    this.bodies = new Bodies();
    /** @type {any} The target of the open request. */
    this.target = null;
    this.handle = 0;
    this.stream = 0;
    /** @type {string | null} The leaf as events report it, possibly before its row is known. */
    this.leafId = null;
    /** Incremented when another session is opened, so that late answers are ignored. */
    this.generation = 0;
    /** @type {any[]} Stored entries whose rows are not known yet. */
    this.arrived = [];
    this.isFetching = false;
    this.statusTimer = 0;
    /** @type {(text: string) => void} */
    this.onNotice = () => {};
    /** @type {(prompts: any[]) => void} */
    this.onReturnedPrompts = () => {};
    connection.subscribe((state) => {
      if (state === "connected" && this.target) this.connect(false).catch((error) => this.fail(error));
    });
  }

  get isOpen() {
    return this.handle !== 0;
  }

  /** @param {Error} error */
  fail(error) {
    if (!(error instanceof EngineError && error.code === "connection_lost")) this.onNotice(error.message);
  }

  /**
   * Opens a session and shows the end of its path.
   * @param {any} target The target of an open request.
   */
  async open(target) {
    this.close();
    const generation = ++this.generation;
    const opened = await this.connection.request({ type: "open", open: target });
    if (generation !== this.generation) return null;
    if (!opened.session) throw new EngineError({ code: "cancelled", message: "a hook refused to open the session" });
    this.handle = opened.id;
    const info = opened.session;
    this.target = { target: "listed", session: info.session };
    this.store.info = info;
    this.store.sessionMeta = { sessionId: info.id, title: "", leafEntryId: null };
    this.bodies.open(info.id, info.session.store);
    this.store.notify("session");
    await this.attach(true);
    return info;
  }

  close() {
    if (this.handle && this.connection.state === "connected") this.connection.write({ type: "close", session: this.handle });
    this.generation++;
    Object.assign(this, { handle: 0, stream: 0, target: null, arrived: [] });
    const { listeners } = this.store;
    Object.assign(this.store, new LiveStore(), { listeners });
    this.store.notify("path");
  }

  /** Opens the session again after the connection was lost. @param {boolean} fromStart */
  async connect(fromStart) {
    const generation = this.generation;
    const opened = await this.connection.request({ type: "open", open: this.target });
    if (generation !== this.generation || !opened.session) return;
    this.handle = opened.id;
    await this.attach(fromStart);
  }

  /** Attaches, and reads what the store does not have. @param {boolean} fromStart */
  async attach(fromStart) {
    const generation = this.generation;
    const after = fromStart ? null : this.store.position;
    if (this.stream) this.connection.write({ type: "detach", stream: this.stream });
    this.arrived = [];
    const attached = await this.connection.attach(this.handle, after, (frame) => {
      if (frame.stream === this.stream) this.receive(frame);
    });
    if (generation !== this.generation) return;
    this.stream = attached.stream;
    const { state } = attached;
    this.leafId = state.leafId;
    const mustRead = !after || state.reset;
    // Entries since `after` follow as events, and move the position then.
    this.store.attach(mustRead ? state : { ...state, position: after });
    if (state.returnedPrompts.length > 0) this.onReturnedPrompts(state.returnedPrompts);
    if (mustRead) await this.read(!fromStart);
    else this.store.setLeaf(this.store.sessionMeta.leafEntryId);
    this.readStatus();
  }

  /** Reads the end of the path, then the whole tree. @param {boolean} isAgain */
  async read(isAgain) {
    const generation = this.generation;
    this.store.isComplete = false;
    if (!isAgain) {
      const last = await this.bodies.last(FIRST_ENTRIES);
      if (generation !== this.generation) return;
      if (!this.store.isComplete) this.store.replace(last.entries.map((/** @type {any} */ entry) => entry.row), last.leafId, false);
    }
    const { rows, leaf } = (await this.query({ type: "tree" })).tree;
    if (generation !== this.generation) return;
    this.store.replace(rows, leaf === null ? null : rows[leaf].id, true);
    this.fetchArrived();
  }

  /** @param {any} frame */
  receive(frame) {
    if (frame.type === "ended") {
      if (this.handle) this.attach(false).catch((error) => this.fail(error));
      return;
    }
    this.store.position = { generation: frame.generation, entries: frame.revision };
    const { event } = frame;
    switch (event.type) {
      case "entry":
        if (!event.offPath) this.leafId = event.id;
        this.arrived.push(event);
        this.fetchArrived();
        return;
      case "moved":
        this.leafId = event.newLeafId;
        this.arrived.push({ leafId: event.newLeafId });
        this.fetchArrived();
        return;
      case "reset":
        this.read(true).catch((error) => this.fail(error));
        return;
      case "notice":
        this.onNotice(event.text);
        return;
      default:
        if (!this.store.apply(event)) this.attach(false).catch((error) => this.fail(error));
        if (event.type === "turn_ended" || event.type === "turn_started") this.readStatus();
    }
  }

  /** Fetches the rows and bodies of new entries, in their order. */
  async fetchArrived() {
    if (this.isFetching || !this.store.isComplete || this.arrived.length === 0) return;
    this.isFetching = true;
    const generation = this.generation;
    try {
      while (this.arrived.length > 0) {
        const events = this.arrived.splice(0, 100);
        const ids = events.filter((event) => event.id && !this.store.entryById.has(event.id)).map((event) => event.id);
        const rows = ids.length > 0 ? await this.bodies.fetch(ids) : [];
        if (generation !== this.generation) return;
        this.applyArrived(events, rows);
      }
    } catch (error) {
      this.fail(/** @type {Error} */ (error));
    } finally {
      this.isFetching = false;
    }
    this.readStatus();
  }

  /** @param {any[]} events @param {import("./state.js").Row[]} rows */
  applyArrived(events, rows) {
    const { store } = this;
    store.append(rows);
    for (const event of events) {
      if (event.leafId !== undefined) {
        store.setLeaf(event.leafId);
        continue;
      }
      if (event.seq > store.entries.length) return void this.read(true).catch((error) => this.fail(error));
      store.drafts.delete(event.draftId ?? event.id);
      store.settle(event.entry);
      if (event.entry.type === "entry_update" && event.entry.targetId) this.bodies.forget(event.entry.targetId);
      if (!event.offPath) store.setLeaf(event.id);
    }
    store.notify("runtime");
  }

  /** Reads the status soon. */
  readStatus() {
    clearTimeout(this.statusTimer);
    this.statusTimer = setTimeout(async () => {
      const generation = this.generation;
      try {
        const [status, path] = await Promise.all([this.query({ type: "status" }), this.query({ type: "path", limit: 1 })]);
        if (generation !== this.generation) return;
        this.store.status = status;
        this.store.unfinishedTurn = path.unfinishedTurn && !this.store.turnRunning;
        this.store.notify("runtime");
        this.store.notify("status");
      } catch (error) {
        this.fail(/** @type {Error} */ (error));
      }
    }, 60);
  }

  /** @param {object} query @returns {Promise<any>} */
  async query(query) {
    return (await this.connection.request({ type: "query", session: this.handle, query })).answer;
  }

  /** @param {object} command @returns {Promise<any>} */
  async send(command) {
    return (await this.connection.request({ type: "send", session: this.handle, command })).reply;
  }

  /**
   * Sends a prompt at the leaf that the page shows.
   * @param {string} text @param {any[]} images @param {"now" | "steer" | "follow_up"} when
   */
  async prompt(text, images, when) {
    const { sessionId } = this.store.sessionMeta;
    const files = [...text.matchAll(/(?:^|\s)["'([{]*@(\S+)/gu)].map((match) => match[1]);
    const seen = this.lastMessageId();
    const url = `/api/sessions/${encodeURIComponent(sessionId)}/prompt?store=${encodeURIComponent(this.store.info.session.store)}`;
    if (when !== "now") return fetchJson(url, { text, images, files, when });
    try {
      return await fetchJson(url, { text, images, files, when, expectedLeafId: this.leafId });
    } catch (error) {
      const { code, facts } = /** @type {EngineError} */ (error);
      if (code !== "leaf_changed" || !(await this.arrives(facts["leaf"] ?? null)) || this.lastMessageId() !== seen) throw error;
      // Only settings changed since: the user has seen every message.
      return fetchJson(url, { text, images, files, when, expectedLeafId: facts["leaf"] ?? null });
    }
  }

  /** The last message of the path to the leaf. */
  lastMessageId() {
    return this.store.visibleEntries.findLast((row) => row.type === "message" && row.role !== "system")?.id;
  }

  /** Waits until the store has an entry. @param {string | null} id */
  async arrives(id) {
    for (let attempt = 0; attempt < 40; attempt++) {
      if (id === null || this.store.entryById.has(id)) return true;
      await new Promise((resume) => setTimeout(resume, 50));
    }
    return false;
  }

  /**
   * Moves to an entry. The move is confirmed by an event; until then nothing is sent.
   * @param {string | null} targetId
   * @param {object} [options]
   */
  async move(targetId, options = {}) {
    const { store } = this;
    const previousLeafId = store.sessionMeta.leafEntryId;
    const requestId = String(Math.random());
    store.switchingLeafEntryId = targetId ?? "";
    store.pendingLeafConfirmation = { targetEntryId: targetId ?? "", previousLeafId, requestId };
    store.notify("runtime");
    const timer = setTimeout(() => this.endMove(requestId), MOVE_TIMEOUT);
    try {
      const reply = await this.send({ type: "move", targetId, expectedLeafId: previousLeafId, ...options });
      if (!reply.cancelled && store.entryById.has(reply.leafId ?? "")) store.setLeaf(reply.leafId);
      return reply;
    } finally {
      clearTimeout(timer);
      this.endMove(requestId);
    }
  }

  /** @param {string} requestId */
  endMove(requestId) {
    const { store } = this;
    if (store.pendingLeafConfirmation && store.pendingLeafConfirmation.requestId !== requestId) return;
    store.pendingLeafConfirmation = null;
    store.switchingLeafEntryId = null;
    store.notify("runtime");
  }
}
