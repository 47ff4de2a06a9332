// @ts-check
// The overview beside a large tree: all its rows in the height of the view, and a frame around those in view. Click or drag to
// scroll. Scrolling the tree only moves the frame. Everything in it is also in the tree, so screen readers skip it.

import { byId, element } from "./dom.js";
import { TreeView, kindClass } from "./tree.js";

/** The tree must be this many times as high as the view. */
const MIN_SCREENS = 3;
/** More lanes are drawn on top of each other. */
const OVERVIEW_LANES = 8;
/** The most rows that are looked at for one line of pixels. */
const MAX_SAMPLES = 12;
/** The kinds that have a color of their own. */
const COLORED_KINDS = ["role-user", "role-assistant", "role-toolResult", "kind-compaction", "kind-branch_summary", "kind-custom_message", "on-path"];

export class TreeOverview {
  /** @param {TreeView} tree */
  constructor(tree) {
    this.tree = tree;
    this.canvas = /** @type {HTMLCanvasElement} */ (byId("overview"));
    this.frame = element("div", { id: "overview-frame", "aria-hidden": "true", hidden: true });
    this.canvas.after(this.frame);
    this.isOutdated = true;
    // The colors of the theme, as the style sheet computes them.
    this.swatches = new Map(COLORED_KINDS.map((kind) => [kind, element("i", { class: `swatch ${kind}` })]));
    this.canvas.append(...this.swatches.values());
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.scrollTo(event);
    });
    this.canvas.addEventListener("pointermove", (event) => this.canvas.hasPointerCapture(event.pointerId) && this.scrollTo(event));
    const redraw = () => {
      this.isOutdated = true;
      tree.schedule();
    };
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    tree.overview = this;
  }

  /** @param {PointerEvent} event */
  scrollTo(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientY - box.top) / box.height;
    this.tree.noteScroll();
    this.tree.root.scrollTop = share * this.tree.height() - this.tree.root.clientHeight / 2;
  }

  /** Draws the rows if they changed, and moves the frame to those in view. @param {number} scrollTop */
  draw(scrollTop) {
    const { viewHeight } = this.tree;
    const height = this.tree.height();
    const isHidden = height < MIN_SCREENS * viewHeight || viewHeight === 0;
    if (this.canvas.hidden !== isHidden) this.canvas.hidden = this.frame.hidden = isHidden;
    if (isHidden) return;
    if (this.isOutdated) this.drawRows();
    this.frame.style.height = `${Math.max(4, (viewHeight / height) * viewHeight)}px`;
    this.frame.style.transform = `translateY(${(scrollTop / height) * viewHeight}px)`;
  }

  /** Draws each line of pixels from a few of its rows. */
  drawRows() {
    this.isOutdated = false;
    const scale = devicePixelRatio;
    const [width, height] = [Math.round(this.canvas.clientWidth * scale), Math.round(this.canvas.clientHeight * scale)];
    Object.assign(this.canvas, { width, height });
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const { rows, store } = this.tree;
    const colors = new Map(COLORED_KINDS.map((kind) => [kind, this.color(kind)]));
    const lane = (width - 6 * scale) / (OVERVIEW_LANES + 1);
    const step = Math.max(1, rows.length / height);
    const thickness = Math.max(1, Math.min(3 * scale, height / rows.length - 1));
    for (let first = 0; first < rows.length; first += step) {
      const last = Math.min(rows.length, first + step);
      for (let at = first; at < last; at += Math.max(1, step / MAX_SAMPLES)) {
        const row = rows[Math.floor(at)];
        const kind = store.activePath.has(row.index) && row.index !== this.tree.leaf ? "on-path" : kindClass(store.entries[row.index]);
        context.fillStyle = colors.get(kind) ?? /** @type {string} */ (colors.get("role-toolResult"));
        const left = 4 * scale + Math.min(row.lane, OVERVIEW_LANES) * lane;
        context.fillRect(left, Math.floor((first / rows.length) * height), Math.max(lane, 2 * scale), thickness);
      }
    }
  }

  /** @param {string} kind */
  color(kind) {
    return getComputedStyle(/** @type {Element} */ (this.swatches.get(kind))).color;
  }
}
