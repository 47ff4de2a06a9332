// @ts-check
// Completion in the prompt: files after `@`, commands after `/` at the start. The focus stays in the prompt; the list is
// announced through it.

import { byId, element } from "./dom.js";

/** @typedef {{ text: string, description: string }} Candidate */

/** The most candidates that are shown. */
const MAX_SHOWN = 8;

export class Completion {
  /**
   * @param {HTMLTextAreaElement} input
   * @param {(isFile: boolean) => Promise<Candidate[]>} source All files, or all commands.
   */
  constructor(input, source) {
    this.input = input;
    this.source = source;
    this.list = byId("completion");
    /** @type {Candidate[]} The shown candidates; none if the list is closed. */
    this.shown = [];
    this.selected = 0;
    /** Where the word that is completed starts. */
    this.start = 0;
    /** The place and the kind of the word that the candidates are for. */
    this.key = "";
    /** @type {Promise<Candidate[]> | null} Read once for each word. */
    this.candidates = null;
    /** Incremented with each key, so that late answers are ignored. */
    this.current = 0;
    input.addEventListener("input", (event) => /** @type {InputEvent} */ (event).isComposing || this.update());
    input.addEventListener("click", () => this.isOpen && this.update());
    input.addEventListener("blur", () => this.close());
    // The prompt keeps the focus.
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
      const at = [...this.list.children].findIndex((item) => item.contains(/** @type {Node} */ (event.target)));
      if (at >= 0) this.accept(at);
    });
  }

  get isOpen() {
    return this.shown.length > 0;
  }

  /** Shows what fits the word at the cursor. */
  async update() {
    const number = ++this.current;
    const word = this.word();
    if (!word) return this.close();
    const key = `${word.start}${word.text[0]}`;
    if (!this.candidates || key !== this.key) this.candidates = this.source(word.text.startsWith("@"));
    this.key = key;
    this.start = word.start;
    const candidates = await this.candidates.catch(() => []);
    if (number !== this.current) return;
    this.shown = bestMatches(candidates, word.text);
    this.select(0);
    this.draw();
  }

  /** The word before the cursor, if it can be completed. @returns {{ start: number, text: string } | null} */
  word() {
    const { value, selectionStart, selectionEnd } = this.input;
    if (selectionStart !== selectionEnd) return null;
    const before = value.slice(0, selectionStart);
    const found = /^\/\S*$/u.exec(before) ?? /(?<=^|\s)@\S*$/u.exec(before);
    return found && { start: found.index, text: found[0] };
  }

  draw() {
    this.list.replaceChildren(
      ...this.shown.map(({ text, description }, at) =>
        element("li", { id: `completion-${at}`, role: "option" }, element("span", { class: "candidate", dir: "auto" }, text), element("span", { class: "description", dir: "auto" }, description)),
      ),
    );
    this.list.hidden = !this.isOpen;
    this.select(this.selected);
  }

  /** @param {number} at */
  select(at) {
    this.selected = at;
    for (const [index, item] of [...this.list.children].entries()) item.setAttribute("aria-selected", String(index === at));
    this.list.children[at]?.scrollIntoView({ block: "nearest" });
    if (this.isOpen) this.input.setAttribute("aria-activedescendant", `completion-${at}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    this.current++;
    this.candidates = null;
    if (!this.isOpen) return;
    this.shown = [];
    this.draw();
  }

  /** Returns whether the list used the key. @param {KeyboardEvent} event */
  handleKey(event) {
    if (!this.isOpen || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return false;
    const number = this.shown.length;
    if (event.key === "ArrowDown") this.select((this.selected + 1) % number);
    else if (event.key === "ArrowUp") this.select((this.selected + number - 1) % number);
    else if (event.key === "Escape") this.close();
    else if (event.key === "Tab" || (event.key === "Enter" && !this.isTyped())) this.accept(this.selected);
    else {
      // The cursor leaves the word.
      if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) this.close();
      return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  /** Whether the selected candidate is in the prompt already, so that Enter sends. */
  isTyped() {
    return this.word()?.text === this.shown[this.selected].text;
  }

  /** Puts a candidate into the prompt. @param {number} at */
  accept(at) {
    const { value, selectionStart } = this.input;
    const after = value.slice(selectionStart);
    const text = `${this.shown[at].text}${/^\s/u.test(after) ? "" : " "}`;
    this.close();
    this.input.setRangeText(text, this.start, selectionStart, "end");
    this.input.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** The candidates that fit a word, the best first. @param {Candidate[]} candidates @param {string} word */
export function bestMatches(candidates, word) {
  const wanted = word.slice(1).toLowerCase();
  const ranked = [];
  for (const candidate of candidates) {
    const rank = rankOf(candidate.text.slice(1).toLowerCase(), wanted);
    if (rank >= 0) ranked.push({ candidate, rank });
  }
  // Sorting is stable: equal ones keep their order.
  ranked.sort((left, right) => left.rank - right.rank || left.candidate.text.length - right.candidate.text.length);
  return ranked.slice(0, MAX_SHOWN).map(({ candidate }) => candidate);
}

/** How well a name fits: 0 is best, -1 is not at all. @param {string} name @param {string} wanted */
function rankOf(name, wanted) {
  const base = name.slice(name.lastIndexOf("/") + 1);
  if (name === wanted) return 0;
  if (name.startsWith(wanted) || base.startsWith(wanted)) return 1;
  if (base.includes(wanted)) return 2;
  if (name.includes(wanted)) return 3;
  let at = 0;
  for (const ch of wanted) {
    at = name.indexOf(ch, at) + 1;
    if (at === 0) return -1;
  }
  return 4;
}
