// @ts-check
// What happens now, below the stored entries: replies while they are written, tools while they run, summaries, retries.
// A reply is rendered by the gateway with the code that renders stored entries, so nothing jumps when it is stored.

import { fetchJson } from "./connection.js";
import { byId, element, fragment, visibleText } from "./dom.js";
import { LiveStore } from "./live_state.js";
import { partialArguments } from "./partial_json.js";

/** After a rendering, the next one waits as long as it took, so that a slow network or a long reply costs no more. This is the longest pause, in milliseconds. */
const MAX_PAUSE = 500;

export class DraftView {
  /**
   * @param {LiveStore} store @param {() => boolean} isConnected Without a connection, nothing is rendered: attaching begins each reply anew.
   * @param {() => void} onResume Continues an unfinished turn.
   */
  constructor(store, isConnected, onResume) {
    this.store = store;
    this.isConnected = isConnected;
    this.resume = element("p", { class: "notice unfinished" }, "The last turn did not finish. ", element("button", { type: "button", class: "only-full" }, "Continue it"));
    this.resume.querySelector("button")?.addEventListener("click", onResume);
    this.waiting = drawWaiting();
    this.retrying = element("p", { class: "notice", role: "status" });
    this.failed = element("p", { class: "notice error turn-error", role: "alert" });
    this.root = byId("running");
    /** @type {Map<string, DrawnDraft>} */
    this.drafts = new Map();
    /** @type {Map<string, DrawnOutput>} Tools by their call, the command of the user, and a summary. */
    this.outputs = new Map();
    this.isScheduled = false;
    store.subscribe((what) => {
      if (what === "draft") for (const drawn of this.drafts.values()) drawn.update();
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
    const parts = this.store.isAtLeaf() ? this.parts() : [];
    showParts(this.root, parts);
    for (const drawn of [this.drafts, this.outputs]) {
      for (const [key, { root }] of drawn) if (!root.isConnected) drawn.delete(key);
    }
  }

  parts() {
    const { store } = this;
    /** @type {HTMLElement[]} */
    const parts = [];
    for (const draft of store.drafts.values()) parts.push(this.drawDraft(draft));
    // A tool that delegates is shown by the card of its batch.
    const tools = [...store.tools.values()].filter((tool) => tool.name !== "task" || store.runningTasks.size === 0);
    for (const tool of tools) parts.push(this.drawTool(tool));
    if (store.shellOutput) parts.push(this.drawOutput("shell", "Command", store.shellOutput, 0).root);
    if (store.summary) parts.push(this.drawOutput(`summary-${store.summary.of}`, SUMMARIES[store.summary.of] ?? "Summarizing", store.summary.text, 0).root);
    if (store.retrying) parts.push(withText(this.retrying, store.retrying));
    if (store.turnError) parts.push(withText(this.failed, store.turnError));
    if (store.unfinishedTurn && !store.turnRunning) parts.push(this.resume);
    if (store.isWorking() && parts.length === 0 && store.questions.size === 0 && store.runningTasks.size === 0) parts.push(this.waiting);
    return parts;
  }

  /** @param {import("./live_state.js").Draft} draft */
  drawDraft(draft) {
    let drawn = this.drafts.get(draft.id);
    if (!drawn) this.drafts.set(draft.id, (drawn = new DrawnDraft(draft, this.isConnected)));
    drawn.follow(draft);
    return drawn.root;
  }

  /** @param {import("./live_state.js").RunningTool} tool */
  drawTool(tool) {
    const { root } = this.drawOutput(`tool-${tool.call}`, tool.name, tool.output, tool.skipped);
    root.dataset["call"] = tool.call;
    root.classList.toggle("failed", tool.isEnded && tool.isError);
    root.classList.toggle("ended", tool.isEnded && !tool.isError);
    return root;
  }

  /** @param {string} key @param {string} name @param {string} text @param {number} skipped */
  drawOutput(key, name, text, skipped) {
    let drawn = this.outputs.get(key);
    if (!drawn) this.outputs.set(key, (drawn = new DrawnOutput(name)));
    drawn.show(text, skipped);
    return drawn;
  }
}

/** @type {Record<string, string>} */
const SUMMARIES = { branch: "Summarizing the branch", compaction: "Compacting the context", graft: "Writing the conclusion" };

function drawWaiting() {
  return element("p", { class: "waiting", role: "status" }, drawPulse(), "Working");
}

function drawPulse() {
  return element("span", { class: "pulse", "aria-hidden": "true" });
}

/** @param {HTMLElement} place @param {string} text */
function withText(place, text) {
  const shown = visibleText(text);
  if (place.textContent !== shown) place.textContent = shown;
  return place;
}

/** Makes elements the children of another one. Those that stay are not touched: they keep their selection and scroll position. @param {HTMLElement} root @param {HTMLElement[]} parts */
function showParts(root, parts) {
  for (const child of [...root.children]) if (!parts.includes(/** @type {HTMLElement} */ (child))) child.remove();
  parts.forEach((part, at) => part === root.children[at] || root.insertBefore(part, root.children[at] ?? null));
}

/** Output that grows. What is shown of it stays, so that it can be selected and read; the style keeps its end in view. */
class DrawnOutput {
  /** @param {string} name */
  constructor(name) {
    this.skipped = element("p", { class: "notice", hidden: true }, "Earlier output is not shown");
    this.code = element("code", { dir: "auto" });
    this.output = element("pre", { hidden: true, tabindex: 0, role: "group", "aria-label": `Output of ${name.slice(0, 100)}` }, this.code);
    this.root = element("div", { class: "result running" }, element("p", { class: "running-title" }, drawPulse(), name), this.skipped, this.output);
    this.shown = "";
  }

  /** @param {string} text @param {number} skipped The number of characters before it. */
  show(text, skipped) {
    this.skipped.hidden = skipped === 0;
    this.output.hidden = text === "";
    if (text.startsWith(this.shown)) this.code.append(visibleText(text.slice(this.shown.length)));
    else this.code.textContent = visibleText(text);
    this.shown = text;
  }
}

/** A reply that is being written. */
class DrawnDraft {
  /** @param {import("./live_state.js").Draft} draft @param {() => boolean} isConnected */
  constructor(draft, isConnected) {
    this.draft = draft;
    this.isConnected = isConnected;
    this.body = element("div", { class: "body" });
    this.root = element(
      "article",
      { class: "entry role-assistant draft", "data-draft": draft.id, "aria-busy": "true" },
      element("header", { class: "entry-header" }, element("span", { class: "who" }, "Assistant"), drawWaiting()),
      this.body,
    );
    this.rendered = -1;
    /** What is shown, as JSON. */
    this.shown = "";
    this.isRendering = false;
  }

  /** After another attachment, the same reply is another object. @param {import("./live_state.js").Draft} draft */
  follow(draft) {
    if (this.draft !== draft) Object.assign(this, { draft, rendered: -1 });
    this.update();
  }

  /** Renders the pieces that arrived since the last time. */
  async update() {
    if (this.isRendering || this.rendered === this.draft.deltas || !this.isConnected()) return;
    this.isRendering = true;
    const pause = await this.render();
    await new Promise((resume) => setTimeout(resume, pause));
    this.isRendering = false;
    if (this.root.isConnected) this.update();
  }

  /** Returns how long to wait before the next rendering, in milliseconds. */
  async render() {
    const { deltas } = this.draft;
    const entry = draftEntry(this.draft);
    const json = JSON.stringify(entry);
    const started = performance.now();
    try {
      if (json !== this.shown) this.show((await fetchJson("/api/render", { parts: [{ type: "entry", entry }] })).html[0]);
      this.shown = json;
      this.rendered = deltas;
      return Math.min(MAX_PAUSE, performance.now() - started);
    } catch {
      // If it does not work again, the stored entry follows.
      return MAX_PAUSE;
    }
  }

  /** @param {string} html */
  show(html) {
    const next = fragment(html);
    const last = next.lastElementChild?.previousElementSibling ?? next.lastElementChild;
    // What is being written is open.
    for (const part of last?.matches("details.thinking") ? [last] : last?.querySelectorAll("details.arguments") ?? []) part.setAttribute("open", "");
    replaceEnd(this.body, next);
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
    return { type: "toolCall", id: block.id, name: block.name, arguments: block.arguments ?? partialArguments(block.json) };
  });
  return { type: "message", id: draft.id, parentId: null, message: { role: "assistant", content } };
}
