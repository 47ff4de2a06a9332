// @ts-check
// The start of an export: reads the data blocks of the file and shows the path to the leaf, or the entry that the address names.

import { connectControls, viewItems } from "./controls.js";
import { announce, byId, fragment, saveFile } from "./dom.js";
import { openMenu } from "./menu.js";
import { searchWords } from "./outline.js";
import { SessionStore } from "./state.js";
import { TranscriptView } from "./transcript.js";
import { TreeView } from "./tree.js";

/** The number of blocks that stay parsed. */
const MAX_PARSED = 24;

/** The bodies of the entries. A block is parsed when one of its entries is needed. */
class BodyBlocks {
  constructor() {
    this.blocks = [...document.querySelectorAll("script.bodies")];
    this.firsts = this.blocks.map((block) => Number(block.getAttribute("data-first")));
    /** @type {Map<number, string[]>} */
    this.parsed = new Map();
  }

  /** @param {number} index @returns {string} */
  body(index) {
    let low = 0;
    for (let high = this.firsts.length; high - low > 1; ) {
      const middle = (low + high) >> 1;
      if (this.firsts[middle] <= index) low = middle;
      else high = middle;
    }
    return this.block(low)[index - this.firsts[low]] ?? "";
  }

  /** @param {number} number @returns {string[]} */
  block(number) {
    const known = this.parsed.get(number);
    if (known) return known;
    const bodies = JSON.parse(this.blocks[number]?.textContent ?? "[]");
    this.parsed.set(number, bodies);
    if (this.parsed.size > MAX_PARSED) this.parsed.delete(/** @type {number} */ (this.parsed.keys().next().value));
    return bodies;
  }

  /**
   * The entries whose text contains all words.
   * @param {string[]} words
   * @param {() => boolean} isCurrent
   */
  async find(words, isCurrent) {
    /** @type {Set<number>} */
    const found = new Set();
    let paused = performance.now();
    for (let number = 0; number < this.blocks.length && isCurrent(); number++) {
      JSON.parse(this.blocks[number].textContent ?? "[]").forEach((/** @type {string} */ html, /** @type {number} */ at) => {
        if (containsWords(html, words)) found.add(this.firsts[number] + at);
      });
      if (performance.now() - paused > 30) {
        await new Promise((resume) => setTimeout(resume));
        paused = performance.now();
      }
    }
    return found;
  }
}

/** @param {string} html @param {string[]} words */
function containsWords(html, words) {
  const lower = html.toLowerCase();
  if (!words.every((word) => lower.includes(word) || /[<>&"']/u.test(word))) return false;
  const text = (fragment(html).textContent ?? "").toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The rendered bodies are all that an export has of a batch. */
class ExportStore extends SessionStore {
  /** @param {import("./state.js").SessionMeta} meta @param {BodyBlocks} bodies */
  constructor(meta, bodies) {
    super(meta);
    this.bodies = bodies;
  }

  /** @param {string} id */
  batchIdOf(id) {
    const html = this.bodies.body(this.entryById.get(id) ?? -1);
    return /data-batch="([^"]*)"/u.exec(html)?.[1] ?? "";
  }
}

/** @param {string} name @returns {any[]} */
function readBlocks(name) {
  const all = [...document.querySelectorAll(`script.${name}`)];
  return all.flatMap((block) => {
    const items = JSON.parse(block.textContent ?? "[]");
    block.remove();
    return items;
  });
}

/** Saves the log of the session, as Osier stores it. Its lines are the end of the file. @param {string} sessionId */
async function saveLog(sessionId) {
  if (document.readyState === "loading") {
    announce("Reading the rest of the file…");
    await new Promise((resume) => document.addEventListener("DOMContentLoaded", resume, { once: true }));
  }
  const blocks = [...document.querySelectorAll("script.lines")];
  const pieces = blocks.map((block) => `${JSON.parse(block.textContent ?? "[]").join("\n")}\n`);
  saveFile(new Blob(pieces, { type: "application/x-ndjson" }), `osier-${sessionId.replace(/[^\w.-]/gu, "_")}.jsonl`);
  announce("Saved the session as JSONL");
}

function startExport() {
  const meta = JSON.parse(document.querySelector("script.session")?.textContent ?? "{}");
  const bodies = new BodyBlocks();
  const store = new ExportStore(meta, bodies);
  const transcript = new TranscriptView(store, (index) => bodies.body(index));
  const tree = new TreeView(store, (id) => {
    history.replaceState(null, "", `#entry=${encodeURIComponent(id)}`);
    store.select(id);
    transcript.scrollTo(id);
  });
  connectControls({ store, tree, transcript, findInBodies: (text, isCurrent) => bodies.find(searchWords(text), isCurrent) });
  store.labelsByEntryId = new Map(readBlocks("labels"));
  store.addRows(readBlocks("rows"));
  const showAddress = () => {
    const id = new URLSearchParams(location.hash.slice(1)).get("entry");
    if (id && store.select(id)) transcript.scrollTo(id);
    return id !== null;
  };
  store.showLeaf();
  showAddress();
  addEventListener("hashchange", showAddress);
  byId("save-log").addEventListener("click", () => saveLog(meta.sessionId));
  const more = byId("export-actions");
  more.addEventListener("click", () => openMenu([...viewItems(store), null, { name: "Save as JSONL", run: () => saveLog(meta.sessionId) }], more));
  document.body.classList.add("ready");
}

startExport();
