// @ts-check
// Where the conversation is scrolled to: it follows new messages at its end, and knows the place of the reader.

import { byId } from "./dom.js";
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
    this.lastTop = 0;
    this.lastHeight = 0;
    this.lastInput = -Infinity;
    /** @type {string | undefined} The last entry of the conversation. */
    this.lastEnd = undefined;
    const jump = byId("jump-down");
    jump.addEventListener("click", () => this.follow());
    addEventListener("scroll", () => this.handleScroll(), { passive: true });
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
    this.store.notify("view");
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

  /** The first entry in view, and how much of it is above; null at the end. */
  place() {
    if (this.isFollowing) return null;
    const line = topLine();
    const top = [...byId("transcript").querySelectorAll(".entry:not(.merged)")].find((entry) => entry.getBoundingClientRect().bottom > line);
    if (!top) return null;
    const box = top.getBoundingClientRect();
    return { id: top.getAttribute("data-id") ?? "", share: (line - box.top) / Math.max(1, box.height) };
  }

  /** Scrolls to a place; to the end if there is none. @param {{ id: string, share: number } | null} place */
  async restore(place) {
    if (!place || !this.store.entryById.has(place.id)) return this.keep();
    this.isFollowing = false;
    await this.transcript.scrollTo(place.id);
    const box = document.getElementById(`entry-${place.id}`)?.getBoundingClientRect();
    if (box) scrollBy({ top: box.top + place.share * box.height - topLine(), behavior: "instant" });
    this.showJump();
  }
}

/** Where the conversation begins below the bar. */
function topLine() {
  return document.querySelector(".top")?.getBoundingClientRect().bottom ?? 0;
}

/** Whether something that the user does scrolls the page. @param {Event} event */
function isScrolling(event) {
  if (event instanceof KeyboardEvent) return /^(?:ArrowUp|PageUp|Home| )$/u.test(event.key) && !(/** @type {Element} */ (event.target).matches?.("input, textarea, select, #tree"));
  // On the scroll bar of the window.
  if (event instanceof PointerEvent) return event.clientX >= document.documentElement.clientWidth;
  return true;
}
