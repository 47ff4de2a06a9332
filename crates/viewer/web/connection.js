// @ts-check
// The WebSocket to the gateway. It connects again by itself; requests that were not answered fail with `connection_lost`.
// A network can vanish without closing the socket, so a silent gateway is asked for a sign of life.

const VERSION = 1;
const FIRST_DELAY = 200;
const MAX_DELAY = 5_000;
/** After this much silence the gateway gets a ping, in milliseconds. */
const PING_AFTER = 20_000;
/** How long the answer to a ping, or a new connection, may take. */
const ANSWER_TIMEOUT = 10_000;
/** How long nothing may arrive while requests wait: a large answer on a slow network holds up everything after it. */
const MAX_SILENCE = 120_000;
const CHECK_INTERVAL = 2_000;
/** How often a deletion is tried again while the session closes, and the pause before, in milliseconds. */
const DELETE_ATTEMPTS = 20;
const DELETE_PAUSE = 250;

/** An error of the engine: a stable code, and a text for people. */
export class EngineError extends Error {
  /** @param {{ code: string, message: string, facts?: Record<string, any> }} error */
  constructor(error) {
    super(error.message);
    this.code = error.code;
    this.facts = error.facts ?? {};
  }
}

/** @typedef {"connecting" | "connected" | "lost" | "refused"} ConnectionState */

/**
 * What the page may do: everything, or only read one session.
 * @typedef {{ access: "full" } | { access: "read_session", session: { store: string, key: string }, sessionId: string, expires?: number }} Access
 */

export class Connection {
  constructor() {
    /** @type {ConnectionState} */
    this.state = "connecting";
    /** @type {WebSocket | null} */
    this.socket = null;
    this.nextId = 1;
    /** @type {Access} */
    this.access = { access: "full" };
    /** @type {Map<number, { resolve: (frame: any) => void, reject: (error: Error) => void }>} */
    this.waiting = new Map();
    /** @type {Map<number, (frame: any) => void>} Where the events of each stream go. */
    this.streams = new Map();
    /** @type {Set<(state: ConnectionState) => void>} */
    this.listeners = new Set();
    this.delay = FIRST_DELAY;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** When the last frame arrived, or the socket was made. */
    this.lastFrame = 0;
    /** When the gateway was asked for a sign of life since then; 0 if it was not. */
    this.pinged = 0;
    addEventListener("online", () => this.wake());
    document.addEventListener("visibilitychange", () => document.hidden || this.wake());
    setInterval(() => this.checkSilence(PING_AFTER), CHECK_INTERVAL);
    this.connect();
  }

  get isReadOnly() {
    return this.access.access === "read_session";
  }

  /** Asks the gateway what the page may do. */
  async readAccess() {
    this.access = await fetchJson("/api/access");
  }

  /** @param {(state: ConnectionState) => void} listener */
  subscribe(listener) {
    this.listeners.add(listener);
    listener(this.state);
  }

  /** @param {ConnectionState} state */
  setState(state) {
    if (this.state === state) return;
    this.state = state;
    for (const listener of this.listeners) listener(state);
  }

  /** The machine or the tab was asleep, or the network is back: the socket may be dead without knowing. */
  wake() {
    if (this.state === "lost") this.connect();
    else this.checkSilence(0);
  }

  /** Asks a silent gateway for a sign of life, and gives the socket up if none comes. @param {number} pingAfter */
  checkSilence(pingAfter) {
    if (!this.socket) return;
    const now = performance.now();
    if (this.socket.readyState === WebSocket.CONNECTING || this.state !== "connected") {
      if (now - this.lastFrame > ANSWER_TIMEOUT) this.giveUp();
    } else if (this.pinged === 0) {
      if (now - this.lastFrame < pingAfter) return;
      this.pinged = now;
      this.write({ type: "ping" });
    } else if (now - this.pinged > ANSWER_TIMEOUT && (this.waiting.size === 0 || now - this.lastFrame > MAX_SILENCE)) {
      this.giveUp();
    }
  }

  /** Treats the socket as closed. The browser may notice only minutes later. */
  giveUp() {
    const { socket } = this;
    this.handleClose();
    socket?.close();
  }

  connect() {
    clearTimeout(this.timer);
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/ws`);
    this.socket?.close();
    this.socket = socket;
    this.noteFrame();
    socket.addEventListener("open", () => socket === this.socket && this.write({ type: "hello", version: VERSION, client: "page" }));
    socket.addEventListener("message", (event) => {
      if (socket !== this.socket) return;
      this.noteFrame();
      this.receive(JSON.parse(event.data));
    });
    socket.addEventListener("close", () => socket === this.socket && this.handleClose());
  }

  noteFrame() {
    this.lastFrame = performance.now();
    this.pinged = 0;
  }

  async handleClose() {
    this.socket = null;
    this.streams.clear();
    abortRequests();
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    this.setState("lost");
    for (const { reject } of waiting) reject(new EngineError({ code: "connection_lost", message: "the connection was lost" }));
    this.delay = Math.min(this.delay * 2, MAX_DELAY);
    this.timer = setTimeout(() => this.connect(), this.delay * (0.75 + Math.random() / 2));
    if (await isLoggedOut()) {
      clearTimeout(this.timer);
      this.setState("refused");
    }
  }

  /** @param {any} frame */
  receive(frame) {
    switch (frame.type) {
      case "hello":
        this.delay = FIRST_DELAY;
        this.setState("connected");
        return;
      case "ping":
        this.write({ type: "pong" });
        return;
      case "event":
      case "ended":
        this.streams.get(frame.stream)?.(frame);
        return;
      case "error":
        this.answer(frame.id, ({ reject }) => reject(new EngineError(frame.error)));
        return;
      default:
        this.answer(frame.id, ({ resolve }) => resolve(frame));
    }
  }

  /** @param {number} id @param {(request: { resolve: (frame: any) => void, reject: (error: Error) => void }) => void} settle */
  answer(id, settle) {
    const request = this.waiting.get(id);
    this.waiting.delete(id);
    if (request) settle(request);
  }

  /** @param {object} frame */
  write(frame) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(frame));
  }

  /**
   * Sends a request. The reply has the id of the request.
   * @param {object} frame
   * @returns {Promise<any>}
   */
  request(frame) {
    if (this.state !== "connected") {
      return Promise.reject(new EngineError({ code: "connection_lost", message: "not connected to the gateway" }));
    }
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.write({ ...frame, id });
    });
  }

  /**
   * Attaches to a session. Events arrive only after this has returned.
   * @param {number} session
   * @param {object | null} after
   * @param {(frame: any) => void} onEvent
   */
  async attach(session, after, onEvent) {
    const id = this.nextId;
    this.streams.set(id, onEvent);
    try {
      return { stream: id, ...(await this.request({ type: "attach", session, ...(after ? { after } : {}) })) };
    } catch (error) {
      this.streams.delete(id);
      throw error;
    }
  }

  /** Ends a stream of events. @param {number} stream */
  detach(stream) {
    if (this.streams.delete(stream)) this.write({ type: "detach", stream });
  }

  /** Deletes a session. One that this page just closed may need a moment until it is. @param {{ store: string, key: string }} session */
  async deleteSession(session) {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.call({ type: "delete_session", session });
      } catch (error) {
        if (/** @type {EngineError} */ (error).code !== "session_busy" || attempt >= DELETE_ATTEMPTS) throw error;
        await new Promise((resume) => setTimeout(resume, DELETE_PAUSE));
      }
    }
  }

  /** Something that needs no open session. @param {object} request */
  async call(request) {
    return (await this.request({ type: "call", request })).reply;
  }
}

async function isLoggedOut() {
  try {
    return (await fetch("/api/engine", { headers: { accept: "application/json" } })).status === 401;
  } catch {
    return false;
  }
}

/** Ends the HTTP requests that are under way: they go over the same network. */
let requests = new AbortController();

function abortRequests() {
  requests.abort();
  requests = new AbortController();
}

/**
 * A request to the HTTP interface.
 * @param {string} path
 * @param {any} [body]
 */
export async function fetchJson(path, body) {
  const response = await request(path, body);
  const answer = await response.json().catch(() => {
    const code = response.ok ? "connection_lost" : "failed";
    throw new EngineError({ code, message: `the gateway sent no answer (status ${response.status})` });
  });
  if (!response.ok) throw new EngineError(answer);
  return answer;
}

/**
 * The lines of JSON of a response, some at a time, as they arrive.
 * @param {string} path
 * @param {(values: any[]) => void} onValues
 */
export async function fetchLines(path, onValues) {
  const response = await request(path);
  if (!response.ok || !response.body) {
    const failure = await response.json().catch(() => ({ code: "failed", message: `the gateway sent no answer (status ${response.status})` }));
    throw new EngineError(failure);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read().catch(() => {
      throw new EngineError({ code: "connection_lost", message: "the gateway stopped sending" });
    });
    const lines = `${rest}${value ?? ""}`.split("\n");
    rest = done ? "" : /** @type {string} */ (lines.pop());
    onValues(JSON.parse(`[${lines.filter((line) => line !== "").join()}]`));
    if (done) return;
  }
}

/** @param {string} path @param {any} [body] */
async function request(path, body) {
  const { signal } = requests;
  const options = body === undefined ? { signal } : { signal, method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  try {
    return await fetch(path, options);
  } catch {
    throw new EngineError({ code: "connection_lost", message: "the gateway cannot be reached" });
  }
}
