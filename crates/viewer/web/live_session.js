// @ts-check
// One open session: reads it, follows its events, and sends commands. After a lost connection or a gap, it reads again from
// where it was, so nothing is lost or shown twice.

import { Bodies } from "./bodies.js";
import { Connection, EngineError, fetchJson } from "./connection.js";
import { FIRST_ENTRIES } from "./early.js";
import { LiveStore } from "./live_state.js";

/** @typedef {{ type: string, [field: string]: any }} EngineCommand */

/** Commands whose reply ends a summary, also if it was not stored. */
const WITH_SUMMARY = new Set(["move", "compact", "graft"]);
/** How long the confirmation of a move may take. */
const MOVE_TIMEOUT = 30_000;
/** The pause before what failed is tried again, and the longest such pause, in milliseconds. */
const RETRY_DELAY = 1_000;
const MAX_RETRY_DELAY = 30_000;
/** How often the page looks whether an event has arrived, and the pause between, in milliseconds. */
const ARRIVAL_ATTEMPTS = 40;
const ARRIVAL_PAUSE = 50;

export class LiveSession {
  /** @param {Connection} connection */
  constructor(connection) {
    this.connection = connection;
    this.store = new LiveStore();
    this.bodies = new Bodies();
    this.bodies.onSubagents = (row, record) => this.store.setSubagents(row, record);
    /** @type {any} The target of the open request. */
    this.target = null;
    this.handle = 0;
    this.stream = 0;
    /** Incremented when another session is opened, so that late answers are ignored. */
    this.generation = 0;
    /** Incremented when another session is asked for. */
    this.opening = 0;
    /** Incremented with each attachment, for the same reason. */
    this.attachment = 0;
    /** Incremented when something that must succeed is tried. */
    this.attempt = 0;
    /** @type {any[]} Stored entries and moves that are not in the store yet. */
    this.arrived = [];
    /** @type {{ entries: number, leafId: string | null } | null} The leaf at the end of the entries that were missed. */
    this.missed = null;
    this.isFetching = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.statusTimer = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.retryTimer = undefined;
    /** @type {(text: string) => void} */
    this.onNotice = () => {};
    /** @type {(report: any) => void} */
    this.onExplore = () => {};
    /** @type {(prompts: any[]) => void} */
    this.onReturnedPrompts = () => {};
    /** @type {(text: string) => void} */
    this.onEditorText = () => {};
    connection.subscribe((state) => {
      if (state === "lost") this.stream = 0;
      if (state === "connected" && this.target) this.keepTrying(() => this.connect());
    });
  }

  get isOpen() {
    return this.handle !== 0;
  }

  /** Whether the questions and drafts of the store are those of the session now. */
  get isAttached() {
    return this.stream !== 0;
  }

  /** Whether all entries that were announced are there. */
  get isSettled() {
    return this.arrived.length === 0 && !this.isFetching;
  }

  /** Whether the store has everything that was in the session when the page attached. */
  get isUpToDate() {
    return this.isAttached && this.store.isComplete && this.isSettled && !this.missed;
  }

  /** @param {Error} error */
  fail(error) {
    if (!(error instanceof EngineError && error.code === "connection_lost")) this.onNotice(error.message);
  }

  /**
   * Shows the end of a session before there is a connection.
   * @param {{ sessionId: string, last: Promise<any> }} early
   */
  async showEarly({ sessionId, last }) {
    const { generation } = this;
    const answer = await last;
    if (generation !== this.generation || this.store.isComplete) return;
    this.bodies.open(sessionId);
    this.bodies.keep(answer.entries);
    this.showLast(answer);
  }

  /** @param {{ entries: { row: import("./state.js").Row }[], leafId: string | null }} last */
  showLast(last) {
    this.store.replace(last.entries.map((entry) => entry.row), last.leafId, false);
  }

  /**
   * Opens a session and shows the end of its path. If it cannot be opened, the open one stays.
   * @param {any} target The target of an open request.
   * @param {Promise<void> | null} [early] The end of its path is shown already, or soon.
   */
  async open(target, early = null) {
    const opening = ++this.opening;
    const opened = await this.connection.request({ type: "open", open: target });
    if (opening !== this.opening) {
      if (opened.session) this.connection.write({ type: "close", session: opened.id });
      return null;
    }
    if (!opened.session) throw new EngineError({ code: "cancelled", message: "a hook refused to open the session" });
    if (!early) this.close();
    this.handle = opened.id;
    const info = opened.session;
    this.target = { target: "listed", session: info.session };
    this.store.info = info;
    this.store.sessionMeta = { ...this.store.sessionMeta, sessionId: info.id };
    this.bodies.open(info.id, info.session.store);
    this.store.notify("session");
    await early;
    await this.attach(true);
    return info;
  }

  close() {
    if (this.handle && this.connection.state === "connected") this.connection.write({ type: "close", session: this.handle });
    this.generation++;
    this.opening++;
    clearTimeout(this.retryTimer);
    this.bodies.close();
    Object.assign(this, { handle: 0, stream: 0, target: null, arrived: [], missed: null, isFetching: false });
    const { listeners, showsHidden } = this.store;
    Object.assign(this.store, new LiveStore(), { listeners, showsHidden });
    this.store.notify("path");
  }

  /**
   * Does what must succeed for the page to go on: tries it again after a pause, until another session is opened, something newer is
   * tried, or the connection is lost. A connection that comes back begins anew.
   * @param {() => Promise<any>} work
   */
  async keepTrying(work) {
    const { generation } = this;
    const attempt = ++this.attempt;
    const isCurrent = () => generation === this.generation && attempt === this.attempt && this.connection.state === "connected";
    let said = "";
    for (let delay = RETRY_DELAY; isCurrent(); delay = Math.min(2 * delay, MAX_RETRY_DELAY)) {
      try {
        return await work();
      } catch (error) {
        const { code, message } = /** @type {EngineError} */ (error);
        if (isCurrent() && message !== said) this.fail(/** @type {Error} */ (error));
        if (code === "session_not_found") return;
        said = message;
      }
      await pause(delay);
    }
  }

  /** Opens the session again, after the connection was lost or the session was closed. */
  async connect() {
    const generation = this.generation;
    const opened = await this.connection.request({ type: "open", open: this.target });
    if (generation !== this.generation) return;
    if (!opened.session) throw new EngineError({ code: "cancelled", message: "a hook refused to open the session" });
    // The gateway may still have it.
    this.connection.write({ type: "close", session: this.handle });
    this.handle = opened.id;
    await this.attach(false);
  }

  /** Attaches, and reads what the store does not have. @param {boolean} fromStart */
  async attach(fromStart) {
    const [generation, attachment] = [this.generation, ++this.attachment];
    const after = fromStart ? null : this.store.position();
    // From now on, nothing of the old stream counts.
    this.connection.detach(this.stream);
    this.stream = 0;
    this.arrived = [];
    const attached = await this.connection.attach(this.handle, after, (frame) => {
      if (frame.stream === this.stream) this.receive(frame);
    });
    if (generation !== this.generation || attachment !== this.attachment) return this.connection.detach(attached.stream);
    this.stream = attached.stream;
    const { state } = attached;
    const mustRead = !after || state.reset;
    this.store.attach(state);
    this.onReturnedPrompts(state.returnedPrompts);
    // The entries since `after` follow as events, without the moves between them.
    this.missed = mustRead ? null : { entries: state.position.entries, leafId: state.leafId };
    if (mustRead) {
      await this.read(!fromStart);
    } else {
      this.settleMissed();
      this.readSubagents();
    }
    this.readStatus();
  }

  /** Sets the leaf as it was when the page attached, once the entries up to then are known. */
  settleMissed() {
    const { missed, store } = this;
    if (!missed || store.entries.length < missed.entries) return;
    this.missed = null;
    store.setLeaf(missed.leafId);
  }

  /** Reads the end of the path, then the whole tree. @param {boolean} isAgain */
  async read(isAgain) {
    const { generation, attachment } = this;
    this.store.isComplete = false;
    if (!isAgain && this.store.entries.length === 0) {
      const last = await this.bodies.last(FIRST_ENTRIES);
      if (generation !== this.generation) return;
      if (!this.store.isComplete) this.showLast(last);
    }
    const { rows, leafId } = await this.bodies.tree();
    if (generation !== this.generation || attachment !== this.attachment) return;
    this.store.replace(rows, leafId, true);
    this.fetchArrived();
    this.readSubagents();
  }

  /** Attaches and reads everything anew, because what the store has does not fit the log. */
  restart() {
    this.store.isComplete = false;
    this.keepTrying(() => this.attach(false));
  }

  /** @param {any} frame */
  receive(frame) {
    if (frame.type === "ended") {
      // The session may be closed, so that its handle is worth nothing.
      if (this.handle) this.keepTrying(() => this.connect());
      return;
    }
    const { event } = frame;
    switch (event.type) {
      case "entry":
        this.arrived.push(event);
        this.fetchArrived();
        return;
      case "moved":
        this.arrived.push({ leafId: event.newLeafId });
        this.fetchArrived();
        return;
      case "reset":
        this.restart();
        return;
      case "notice":
        this.onNotice(event.text);
        return;
      case "explore":
        this.onExplore(event.report);
        return;
      case "extension":
        this.showExtension(event);
        return;
      default:
        if (!this.store.apply(event)) this.keepTrying(() => this.attach(false));
        if (event.type === "turn_ended" || event.type === "turn_started") this.readStatus();
    }
  }

  /** What an extension shows. @param {any} event */
  showExtension(event) {
    const { store } = this;
    const set = (/** @type {Map<string, any>} */ map, /** @type {string} */ key, /** @type {any} */ value) => (value === undefined ? map.delete(key) : map.set(key, value));
    if (event.method === "notify") this.onNotice(event.message);
    if (event.method === "error") this.onNotice(`An extension failed: ${event.error}`);
    if (event.method === "set_editor_text") this.onEditorText(event.text);
    if (event.method === "setStatus") set(store.extensionStatus, event.statusKey, event.statusText);
    if (event.method === "setWidget") set(store.extensionWidgets, event.widgetKey, event.widgetLines);
    store.notify("extensions");
  }

  /** Reads what sub-agents did, if there are any. */
  async readSubagents() {
    const { generation } = this;
    if (!this.store.entries.some((row) => row.type === "subagent_batch")) return;
    // An engine that does not project batches still renders their entries.
    const answer = await this.query({ type: "subagents" }).catch(() => ({ batches: [] }));
    if (generation === this.generation) for (const projection of answer.batches) this.store.setProjection(projection);
  }

  /** Fetches the rows and bodies of new entries, in their order. Those that cannot be fetched are tried again. */
  async fetchArrived() {
    if (this.isFetching || !this.store.isComplete || this.arrived.length === 0) return;
    this.isFetching = true;
    const generation = this.generation;
    while (this.arrived.length > 0 && this.store.isComplete) {
      const { attachment } = this;
      const events = this.arrived.splice(0, 100);
      try {
        const ids = events.filter((event) => event.id && !this.store.entryById.has(event.id)).map((event) => event.id);
        const rows = ids.length > 0 ? await this.bodies.fetch(ids) : [];
        if (generation !== this.generation) return;
        // After another attachment, these events come again.
        if (attachment === this.attachment) this.applyArrived(events, rows);
      } catch (error) {
        if (generation !== this.generation) return;
        if (attachment === this.attachment) this.arrived.unshift(...events);
        clearTimeout(this.retryTimer);
        this.retryTimer = setTimeout(() => this.fetchArrived(), RETRY_DELAY);
        this.fail(/** @type {Error} */ (error));
        break;
      }
    }
    this.isFetching = false;
    this.readStatus();
  }

  /** @param {any[]} events @param {import("./state.js").Row[]} rows */
  applyArrived(events, rows) {
    const { store } = this;
    store.append(rows);
    for (const event of events) {
      // Moves and later entries come after all that were missed.
      if (this.missed && !(event.seq < this.missed.entries)) this.settleMissed();
      if (event.leafId !== undefined) {
        store.setLeaf(event.leafId);
        continue;
      }
      if (store.entries[event.seq]?.id !== event.id) return this.restart();
      store.drafts.delete(event.draftId ?? event.id);
      store.settle(event.entry);
      if (!event.offPath && !this.missed) store.setLeaf(event.id);
    }
    this.settleMissed();
    store.notify("runtime");
    const updated = rows.filter((row) => row.type === "entry_update" && row.targetId).map((row) => /** @type {string} */ (row.targetId));
    if (updated.length > 0) this.refresh(updated).catch((error) => this.fail(error));
  }

  /** Fetches entries again, because their state changed. @param {string[]} ids */
  async refresh(ids) {
    const { generation } = this;
    const rows = await this.bodies.fetch(ids);
    if (generation === this.generation) this.store.update(rows);
  }

  /** Reads the status soon. */
  readStatus() {
    clearTimeout(this.statusTimer);
    this.statusTimer = setTimeout(async () => {
      if (!this.isOpen) return;
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

  /** The indexes of the entries whose whole text matches. @param {string} text @returns {Promise<Set<number>>} */
  async search(text) {
    const { ids } = await this.query({ type: "search", query: text });
    const indexes = ids.map((/** @type {string} */ id) => this.store.entryById.get(id));
    return new Set(indexes.filter((/** @type {number | undefined} */ index) => index !== undefined));
  }

  /** @param {EngineCommand} command @returns {Promise<any>} */
  async send(command) {
    try {
      return (await this.connection.request({ type: "send", session: this.handle, command })).reply;
    } finally {
      if (WITH_SUMMARY.has(command.type)) this.store.endSummary();
    }
  }

  /** Sends a message to the sub-agent that does a task, or to all that work. @param {string} text @param {string} [task] */
  steerTasks(text, task) {
    this.send({ type: "steer_task", task, text }).catch((error) => this.fail(error));
  }

  /** Stops a task, or all of them. @param {string} [task] */
  cancelTasks(task) {
    this.send({ type: "cancel_tasks", task }).catch((error) => this.fail(error));
  }

  /**
   * Sends a prompt at the leaf that the page shows.
   * @param {string} text @param {any[]} images @param {"now" | "steer" | "follow_up"} when
   */
  async prompt(text, images, when) {
    const { sessionId } = this.store.sessionMeta;
    const files = [...text.matchAll(/(?:^|\s)["'([{]*@(\S+)/gu)].map((match) => match[1]);
    const seen = this.store.lastMessageAbove(this.store.sessionMeta.leafEntryId);
    const url = `/api/sessions/${encodeURIComponent(sessionId)}/prompt?store=${encodeURIComponent(this.store.info.session.store)}`;
    if (when !== "now") return fetchJson(url, { text, images, files, when });
    try {
      return await fetchJson(url, { text, images, files, when, expectedLeafId: this.store.sessionMeta.leafEntryId });
    } catch (error) {
      const { code, facts } = /** @type {EngineError} */ (error);
      const leafId = facts["leaf"] ?? null;
      // The events of a move may be on their way, so what the page shows now says nothing about that leaf.
      if (code !== "leaf_changed" || !(await this.arrives(leafId)) || this.store.lastMessageAbove(leafId) !== seen) throw error;
      // Only settings changed since: the user has seen every message above that leaf.
      return fetchJson(url, { text, images, files, when, expectedLeafId: leafId });
    }
  }

  /** Waits until the store has an entry. @param {string | null} id */
  async arrives(id) {
    for (let attempt = 0; attempt < ARRIVAL_ATTEMPTS; attempt++) {
      if (id === null || this.store.entryById.has(id)) return true;
      await pause(ARRIVAL_PAUSE);
    }
    return false;
  }

  /**
   * Moves to an entry. Until the move is confirmed, nothing is sent. If it fails, the selection is what it was. A summary takes as
   * long as its model needs; any other move has a time limit.
   * @param {string | null} targetId
   * @param {{ summarize?: boolean, [option: string]: any }} [options]
   */
  async move(targetId, options = {}) {
    const { store, generation } = this;
    const previousLeafId = store.sessionMeta.leafEntryId;
    const requestId = String(Math.random());
    /** @type {(string | null)[]} */
    const leaves = [];
    store.switchingLeafEntryId = targetId ?? "";
    store.pendingLeafConfirmation = { targetEntryId: targetId ?? "", previousLeafId, requestId, leaves };
    store.notify("runtime");
    const selected = store.selectedEntryId;
    try {
      const sent = this.send({ type: "move", targetId, expectedLeafId: previousLeafId, ...options });
      const reply = await (options.summarize ? sent : confirmedInTime(sent));
      if (!reply.cancelled && generation === this.generation) await this.confirmLeaf(reply.leafId ?? null, leaves);
      return reply;
    } catch (error) {
      if (selected && generation === this.generation) store.select(selected);
      throw error;
    } finally {
      this.endMove(requestId);
    }
  }

  /**
   * Waits for the events of a move. Fails if somebody else has moved or added something since: a prompt would follow that.
   * @param {string | null} leafId @param {(string | null)[]} leaves The leaves since the move was sent.
   */
  async confirmLeaf(leafId, leaves) {
    const { store, generation } = this;
    const isHere = () => leaves.includes(leafId) || store.sessionMeta.leafEntryId === leafId;
    for (let attempt = 0; attempt < ARRIVAL_ATTEMPTS && !isHere(); attempt++) await pause(ARRIVAL_PAUSE);
    if (generation !== this.generation) return;
    // The events may have been lost with a connection.
    if (!isHere() && (leafId === null || store.entryById.has(leafId))) store.setLeaf(leafId);
    // A label or a setting below it is no other place.
    if (isHere() && store.leafIndex() !== store.shownIndex(leafId)) {
      throw new EngineError({ code: "leaf_changed", message: "Somebody else moved in the session. Look at where it is now, and try again." });
    }
  }

  /** Moves to the selected entry, if it is not the leaf. Returns whether a prompt can follow. */
  async moveToSelected() {
    const row = this.store.continuation();
    if (!row) return true;
    if (this.store.turnRunning) {
      throw new EngineError({ code: "session_busy", message: "A turn is running. Stop it before you continue from another entry." });
    }
    return !(await this.move(row.id)).cancelled;
  }

  /** @param {string} requestId */
  endMove(requestId) {
    const { store } = this;
    if (store.pendingLeafConfirmation && store.pendingLeafConfirmation.requestId !== requestId) return;
    store.endSwitch();
    store.notify("runtime");
  }
}

/** @param {number} milliseconds */
function pause(milliseconds) {
  return new Promise((resume) => setTimeout(resume, milliseconds));
}

/** The reply to a move, or an error if it takes too long. @param {Promise<any>} reply */
function confirmedInTime(reply) {
  /** @type {Promise<never>} */
  const limit = new Promise((_, reject) => {
    const late = new EngineError({ code: "timeout", message: "The gateway did not confirm the move. Look at where the session is, and try again." });
    const timer = setTimeout(() => reject(late), MOVE_TIMEOUT);
    reply.finally(() => clearTimeout(timer)).catch(() => {});
  });
  return Promise.race([reply, limit]);
}
