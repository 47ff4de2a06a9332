// @ts-check
// What happens now, below the stored entries: replies while they are written, tools while they run, summaries, retries.
// A reply is rendered by the gateway with the code that renders stored entries, so nothing jumps when it is stored.

import { fetchJson } from "./connection.js";
import { byId, element, fragment } from "./dom.js";
import { LiveStore } from "./live_state.js";

/** After a rendering, the next one waits this many times as long as it took, so that a slow network or a long reply costs no more. */
const PAUSE_FACTOR = 1;
const MAX_PAUSE = 500;

export class DraftView {
  /** @param {LiveStore} store @param {() => void} onResume Continues an unfinished turn. */
  constructor(store, onResume) {
    this.store = store;
    this.resume = element("p", { class: "notice unfinished" }, "The last turn did not finish. ", element("button", { type: "button", class: "only-full" }, "Continue it"));
    this.resume.querySelector("button")?.addEventListener("click", onResume);
    this.root = byId("running");
    /** @type {Map<string, DrawnDraft>} */
    this.drawn = new Map();
    this.isScheduled = false;
    store.subscribe((what) => {
      if (what === "draft") for (const drawn of this.drawn.values()) drawn.update();
      if (what === "draft" || what === "runtime" || what === "path") this.schedule();
    });
  }

  schedule() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      this.draw();
    });
  }

  draw() {
    const { store } = this;
    for (const id of this.drawn.keys()) if (!store.drafts.has(id)) this.drawn.delete(id);
    const parts = store.isAtLeaf() ? this.parts() : [];
    if (parts.length !== this.root.childNodes.length || parts.some((part, at) => part !== this.root.childNodes[at])) {
      this.root.replaceChildren(...parts);
    }
  }

  parts() {
    const { store } = this;
    const parts = [];
    for (const draft of store.drafts.values()) {
      let drawn = this.drawn.get(draft.id);
      if (!drawn) this.drawn.set(draft.id, (drawn = new DrawnDraft(draft)));
      drawn.follow(draft);
      parts.push(drawn.root);
    }
    // A tool that delegates is shown by the card of its batch.
    for (const tool of store.tools.values()) if (tool.name !== "task" || store.runningTasks.size === 0) parts.push(drawTool(tool));
    if (store.shellOutput) parts.push(drawOutput("Command", store.shellOutput, 0));
    if (store.summary) parts.push(drawOutput(SUMMARIES[store.summary.of] ?? "Summarizing", store.summary.text, 0));
    if (store.retrying) parts.push(element("p", { class: "notice" }, store.retrying));
    if (store.turnError) parts.push(element("p", { class: "notice error turn-error" }, store.turnError));
    if (store.unfinishedTurn && !store.turnRunning) parts.push(this.resume);
    if (store.turnRunning && parts.length === 0 && store.questions.size === 0 && store.runningTasks.size === 0) parts.push(drawWaiting());
    return parts;
  }
}

/** @type {Record<string, string>} */
const SUMMARIES = { branch: "Summarizing the branch", compaction: "Compacting the context", graft: "Writing the conclusion" };

function drawWaiting() {
  return element("p", { class: "waiting", role: "status" }, element("span", { class: "pulse", "aria-hidden": "true" }), "Working");
}

/** A reply that is being written. */
class DrawnDraft {
  /** @param {import("./live_state.js").Draft} draft */
  constructor(draft) {
    this.draft = draft;
    this.body = element("div", { class: "body" });
    this.root = element(
      "article",
      { class: "entry role-assistant draft", "data-draft": draft.id, "aria-busy": "true" },
      element("header", { class: "entry-header" }, element("span", { class: "who" }, "Assistant"), drawWaiting()),
      this.body,
    );
    this.rendered = -1;
    this.isRendering = false;
  }

  /** After another attachment, the same reply is another object. @param {import("./live_state.js").Draft} draft */
  follow(draft) {
    if (this.draft !== draft) Object.assign(this, { draft, rendered: -1 });
    this.update();
  }

  /** Renders the pieces that arrived since the last time. */
  async update() {
    if (this.isRendering || this.rendered === this.draft.deltas) return;
    this.isRendering = true;
    const { deltas } = this.draft;
    const started = performance.now();
    try {
      const { html } = await fetchJson("/api/render", { parts: [{ type: "entry", entry: draftEntry(this.draft) }] });
      this.rendered = deltas;
      this.show(html[0]);
    } catch {
      // The stored entry follows.
    }
    const pause = Math.min(MAX_PAUSE, PAUSE_FACTOR * (performance.now() - started));
    await new Promise((resume) => setTimeout(resume, pause));
    this.isRendering = false;
    if (this.rendered !== this.draft.deltas && this.root.isConnected) this.update();
  }

  /** @param {string} html */
  show(html) {
    replaceEnd(this.body, fragment(html));
    const last = this.body.lastElementChild?.previousElementSibling ?? this.body.lastElementChild;
    if (last?.matches("details.thinking")) last.setAttribute("open", "");
  }
}

/**
 * Makes the nodes below an element those of a newer rendering. Only the end is replaced, so that a selection in earlier text stays,
 * and a long reply costs no more than a short one.
 * @param {Element} shown @param {ParentNode} next
 */
function replaceEnd(shown, next) {
  let [old, fresh] = [shown.firstChild, next.firstChild];
  while (old && fresh && old.isEqualNode(fresh)) [old, fresh] = [old.nextSibling, fresh.nextSibling];
  if (old instanceof Element && fresh instanceof Element && old.cloneNode().isEqualNode(fresh.cloneNode())) {
    replaceEnd(old, fresh);
    [old, fresh] = [old.nextSibling, fresh.nextSibling];
  }
  const [outdated, added] = [[...followers(old)], [...followers(fresh)]];
  outdated.forEach((node) => node.remove());
  shown.append(...added);
}

/** A node and all siblings after it. @param {ChildNode | null} node */
function* followers(node) {
  for (; node; node = node.nextSibling) yield node;
}

/** @param {import("./live_state.js").Draft} draft */
function draftEntry(draft) {
  const content = draft.blocks.filter((block) => block !== undefined).map((block) => {
    if (block.type !== "toolCall") return block;
    return { type: "toolCall", id: block.id, name: block.name, arguments: block.arguments };
  });
  return { type: "message", id: draft.id, parentId: null, message: { role: "assistant", content } };
}

/** @param {import("./live_state.js").RunningTool} tool */
function drawTool(tool) {
  const made = drawOutput(tool.name, tool.output, tool.skipped);
  made.dataset["call"] = tool.call;
  if (tool.isEnded) made.classList.add(tool.isError ? "failed" : "ended");
  return made;
}

/** @param {string} name @param {string} text @param {number} skipped */
function drawOutput(name, text, skipped) {
  const made = element("div", { class: "result running" }, element("p", { class: "running-title" }, element("span", { class: "pulse", "aria-hidden": "true" }), name));
  const shown = text.split("\n").slice(-30).join("\n");
  if (skipped > 0 || shown.length < text.length) made.append(element("p", { class: "notice" }, "Earlier output is not shown"));
  if (shown) made.append(element("pre", {}, element("code", { dir: "auto" }, shown)));
  return made;
}
