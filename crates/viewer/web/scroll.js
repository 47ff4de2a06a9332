// @ts-check
// Where the conversation is scrolled to: it follows new messages at its end, and a refresh shows the same entry again.

import { byId, preferences } from "./dom.js";
import { LiveStore } from "./live_state.js";
import { TranscriptView } from "./transcript.js";

/** Nearer to the end than this counts as the end, in pixels. */
const NEAR_END = 120;

export class ScrollKeeper {
  /** @param {LiveStore} store @param {TranscriptView} transcript */
  constructor(store, transcript) {
    this.store = store;
    this.transcript = transcript;
    this.isFollowing = true;
    this.timer = 0;
    this.lastTop = 0;
    /** @type {string | undefined} The last entry of the conversation. */
    this.lastEnd = undefined;
    const jump = byId("jump-down");
    jump.addEventListener("click", () => this.follow());
    addEventListener("scroll", () => this.handleScroll(), { passive: true });
    addEventListener("pagehide", () => this.save());
    const resized = new ResizeObserver(() => this.keep());
    for (const id of ["transcript", "running", "questions", "composer"]) resized.observe(byId(id));
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
    const distance = document.documentElement.scrollHeight - scrollY - innerHeight;
    // Content that grows moves the end away; only the user moves up.
    if (distance < NEAR_END) this.isFollowing = true;
    else if (scrollY < this.lastTop - 2) this.isFollowing = false;
    this.lastTop = scrollY;
    this.showJump();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), 200);
  }

  keep() {
    if (this.isFollowing) {
      scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
      // If the content became shorter, this moved up, and the event comes when it may be longer again.
      this.lastTop = window.scrollY;
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
    if (!this.store.isAtLeaf()) this.store.showLeaf();
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
