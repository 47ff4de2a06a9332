// @ts-check
// The rendered bodies of entries. They are fetched in batches when they come near the view, and kept.

import { EngineError, fetchJson, fetchLines } from "./connection.js";

/** The most entries in one request. */
const BATCH = 100;
/** The bodies that stay in memory; older ones are fetched again. */
const MAX_KEPT = 3_000;

export class Bodies {
  constructor() {
    this.url = "";
    this.rowsUrl = "";
    this.sessionId = "";
    /** @type {Map<string, string>} */
    this.kept = new Map();
    /** @type {Map<string, Promise<void>>} */
    this.loading = new Map();
    /** @type {(row: import("./state.js").Row, record: import("./state.js").SubagentsRecord) => void} Called for each entry about sub-agents. */
    this.onSubagents = () => {};
  }

  /** Names the session, and forgets the bodies of another one. @param {string} sessionId @param {string} [store] */
  open(sessionId, store) {
    const url = (/** @type {string} */ what) => `/api/sessions/${encodeURIComponent(sessionId)}/${what}?${store ? `store=${encodeURIComponent(store)}` : ""}`;
    this.url = url("rendered");
    this.rowsUrl = url("rows");
    if (this.sessionId === sessionId) return;
    this.close();
    this.sessionId = sessionId;
  }

  /** Forgets the bodies. The store forgets what they say about sub-agents, too. */
  close() {
    this.sessionId = "";
    this.kept.clear();
    this.loading.clear();
  }

  /** @param {string} id @returns {string | undefined} */
  get(id) {
    return this.kept.get(id);
  }

  /** The last entries of the path. @param {number} number */
  async last(number) {
    const { sessionId } = this;
    const answer = await fetchJson(`${this.url}&last=${number}`);
    if (sessionId === this.sessionId) this.keep(answer.entries);
    return answer;
  }

  /**
   * All rows of the tree, and the leaf. A large tree arrives in many pieces.
   * @returns {Promise<{ rows: import("./state.js").Row[], leafId: string | null }>}
   */
  async tree() {
    /** @type {import("./state.js").Row[]} */
    const rows = [];
    /** @type {{ rows: number, leafId: string | null } | undefined} */
    let first;
    await fetchLines(this.rowsUrl, (values) => {
      first ??= values.shift();
      for (const row of values) rows.push(row);
    });
    if (rows.length !== first?.rows) throw new EngineError({ code: "failed", message: "the gateway sent only a part of the tree" });
    return { rows, leafId: first.leafId };
  }

  /** Entries and their rows. @param {string[]} ids @returns {Promise<import("./state.js").Row[]>} */
  async fetch(ids) {
    const { sessionId, url } = this;
    /** @type {import("./state.js").Row[]} */
    const rows = [];
    // Entries that are large come in several answers.
    for (let rest = ids; rest.length > 0; ) {
      const answer = await fetchJson(`${url}&ids=${rest.map(encodeURIComponent).join(",")}`);
      // A fork has entries with the same ids.
      if (sessionId === this.sessionId) this.keep(answer.entries);
      rows.push(...answer.entries.map((/** @type {any} */ entry) => entry.row));
      rest = answer.omitted ?? [];
    }
    return rows;
  }

  /** @param {{ row: import("./state.js").Row, html: string, subagents?: import("./state.js").SubagentsRecord }[]} entries */
  keep(entries) {
    for (const { row, html, subagents } of entries) {
      this.kept.set(row.id, html);
      if (subagents) this.onSubagents(row, subagents);
    }
    for (const id of this.kept.keys()) {
      if (this.kept.size <= MAX_KEPT) break;
      this.kept.delete(id);
    }
  }

  /** Fetches bodies that are missing. @param {string[]} ids */
  async load(ids) {
    const missing = ids.filter((id) => !this.kept.has(id));
    const fresh = missing.filter((id) => !this.loading.has(id));
    for (let first = 0; first < fresh.length; first += BATCH) {
      const batch = fresh.slice(first, first + BATCH);
      const { sessionId } = this;
      const done = this.fetch(batch).then(() => {
        if (sessionId !== this.sessionId) return;
        // An entry that the gateway does not return stays empty.
        for (const id of batch) if (!this.kept.has(id)) this.kept.set(id, "");
      });
      /** @type {Promise<void>} */
      const settled = done.finally(() => batch.forEach((id) => this.loading.get(id) === settled && this.loading.delete(id)));
      batch.forEach((id) => this.loading.set(id, settled));
    }
    await Promise.all(new Set(missing.map((id) => this.loading.get(id))));
  }
}
