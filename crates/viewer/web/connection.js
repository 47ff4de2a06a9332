// @ts-check
// The WebSocket to the gateway. It connects again by itself; requests that were not answered fail with `connection_lost`.

const VERSION = 1;
const FIRST_DELAY = 200;
const MAX_DELAY = 5_000;

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

export class Connection {
  constructor() {
    /** @type {ConnectionState} */
    this.state = "connecting";
    /** @type {WebSocket | null} */
    this.socket = null;
    this.nextId = 1;
    /** @type {Map<number, { resolve: (frame: any) => void, reject: (error: Error) => void }>} */
    this.waiting = new Map();
    /** @type {Map<number, (frame: any) => void>} Where the events of each stream go. */
    this.streams = new Map();
    /** @type {Set<(state: ConnectionState) => void>} */
    this.listeners = new Set();
    this.delay = FIRST_DELAY;
    this.timer = 0;
    addEventListener("online", () => this.connectNow());
    document.addEventListener("visibilitychange", () => document.hidden || this.connectNow());
    this.connect();
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

  connectNow() {
    if (this.state === "lost") this.connect();
  }

  connect() {
    clearTimeout(this.timer);
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/ws`);
    this.socket?.close();
    this.socket = socket;
    socket.addEventListener("open", () => this.write({ type: "hello", version: VERSION, client: "page" }));
    socket.addEventListener("message", (event) => socket === this.socket && this.receive(JSON.parse(event.data)));
    socket.addEventListener("close", () => socket === this.socket && this.handleClose());
  }

  async handleClose() {
    this.socket = null;
    this.streams.clear();
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
    this.socket?.send(JSON.stringify(frame));
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
    return { stream: id, ...(await this.request({ type: "attach", session, ...(after ? { after } : {}) })) };
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

/**
 * A request to the HTTP interface.
 * @param {string} path
 * @param {any} [body]
 */
export async function fetchJson(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new EngineError({ code: "connection_lost", message: "the gateway cannot be reached" });
  }
  const answer = await response.json();
  if (!response.ok) throw new EngineError(answer);
  return answer;
}
