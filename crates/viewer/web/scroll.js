// @ts-check
// Where the conversation is scrolled to: it follows new messages at its end, and a refresh shows the same entry again.

import { byId, preferences } from "./dom.js";
import { LiveStore } from "./live_state.js";
import { TranscriptView } from "./transcript.js";

/** Nearer to the end than this counts as the end, in pixels. */
const NEAR_END = 120;
/** A scroll this long after the user scrolled is still the work of the user, in milliseconds. */
const INPUT_TIME = 1_000;

export class ScrollKeeper {
  /** @param {LiveStore} store @param {TranscriptView} transcript */
  constructor(store, transcript) {
    this.store = store;
    this.transcript = transcript;
    this.isFollowing = true;
    this.timer = 0;
    this.lastTop = 0;
    this.lastHeight = 0;
    this.lastInput = -Infinity;
    /** @type {string | undefined} The last entry of the conversation. */
    this.lastEnd = undefined;
    const jump = byId("jump-down");
    jump.addEventListener("click", () => this.follow());
    addEventListener("scroll", () => this.handleScroll(), { passive: true });
    addEventListener("pagehide", () => this.save());
    const resized = new ResizeObserver(() => this.keep());
    for (const part of [byId("transcript"), byId("running"), byId("dock")]) resized.observe(part);
    for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(kind, (event) => isScrolling(event) && (this.lastInput = performance.now()), { passive: true });
    addEventListener("resize", () => this.keep());
    store.subscribe((what) => what === "path" && this.noteEnd());
  }

  /** Tells a reader who is further up when something new is at the end. */
  noteEnd() {
    const end = this.store.visibleEntries.at(-1)?.id;
    const isNew = this.lastEnd !== undefined && end !== this.lastEnd && !this.isFollowing;
    this.lastEnd = end;
    if (isNew) byId("jump-down").textContent = "↓ New messages";
  }

  /** Another session is opened. */
  begin() {
    this.isFollowing = true;
  }

  handleScroll() {
    const { scrollY } = window;
    const { scrollHeight } = document.documentElement;
    if (scrollHeight - scrollY - innerHeight < NEAR_END) this.isFollowing = true;
    else if (scrollY < this.lastTop - 2 && this.isByUser(scrollHeight)) this.isFollowing = false;
    this.noteTop();
    this.showJump();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), 200);
  }

  /**
   * Whether the user moved up. Content that becomes shorter moves the view, too, and may be longer again when the event comes.
   * @param {number} height
   */
  isByUser(height) {
    return height === this.lastHeight || performance.now() - this.lastInput < INPUT_TIME;
  }

  noteTop() {
    this.lastTop = window.scrollY;
    this.lastHeight = document.documentElement.scrollHeight;
  }

  keep() {
    if (this.isFollowing) {
      scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
      this.noteTop();
    }
    this.showJump();
  }

  showJump() {
    const jump = byId("jump-down");
    jump.hidden = this.isFollowing;
    if (this.isFollowing) jump.textContent = "↓ Latest";
  }

  follow() {
    this.isFollowing = true;
    if (!this.store.isAtLeaf() || !this.store.isLeafSelected()) this.store.showLeaf();
    this.keep();
  }

  /** Remembers the first entry in view. */
  save() {
    const { sessionId } = this.store.sessionMeta;
    if (!sessionId) return;
    const top = [...byId("transcript").querySelectorAll(".entry")].find((entry) => entry.getBoundingClientRect().bottom > 60);
    const place = this.isFollowing || !top ? "" : `${top.getAttribute("data-id")} ${Math.round(top.getBoundingClientRect().top)}`;
    preferences.set("scroll", `${sessionId} ${place}`);
  }

  /** Whether this browser was in the middle of the session, and not at its end. @param {string} sessionId */
  isKept(sessionId) {
    const [id, entry] = (preferences.get("scroll") ?? "").split(" ");
    return id === sessionId && Boolean(entry);
  }

  /** Scrolls to where this browser was in the session. @param {string} sessionId */
  async restore(sessionId) {
    const [id, entry, top] = (preferences.get("scroll") ?? "").split(" ");
    if (id !== sessionId || !entry || !this.store.entryById.has(entry)) return this.follow();
    this.isFollowing = false;
    await this.transcript.scrollTo(entry);
    const shown = document.getElementById(`entry-${entry}`);
    if (shown) scrollBy({ top: shown.getBoundingClientRect().top - Number(top), behavior: "instant" });
  }
}

/** Whether something that the user does scrolls the page. @param {Event} event */
function isScrolling(event) {
  if (event instanceof KeyboardEvent) return /^(?:ArrowUp|PageUp|Home| )$/u.test(event.key) && !(/** @type {Element} */ (event.target).matches?.("input, textarea, select, #tree"));
  // On the scroll bar of the window.
  if (event instanceof PointerEvent) return event.clientX >= document.documentElement.clientWidth;
  return true;
}
