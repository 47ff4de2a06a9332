// @ts-check
// Questions of the agent: whether a tool may run, with what it would change in view.

import { fetchJson } from "./connection.js";
import { announce, byId, element, fragment } from "./dom.js";
import { LiveSession } from "./live_session.js";

/** @type {Record<string, string>} */
const REASONS = {
  outside: "It changes a file outside the project.",
  guarded: "It changes a file that makes other programs run something.",
  sandbox: "It failed in the sandbox, and would now run outside of it.",
};

export class QuestionView {
  /** @param {LiveSession} session */
  constructor(session) {
    this.session = session;
    this.root = byId("questions");
    /** The drawn cards, and the questions that they show. @type {Map<number, { card: HTMLElement, shown: string }>} */
    this.drawn = new Map();
    session.store.subscribe((what) => {
      if (what === "runtime" || what === "path") this.update();
    });
  }

  update() {
    const { questions } = this.session.store;
    for (const [id, { card, shown }] of this.drawn) {
      // A gateway that was started again numbers its questions anew.
      if (JSON.stringify(questions.get(id)) === shown) continue;
      card.remove();
      this.drawn.delete(id);
    }
    for (const [id, question] of questions) {
      if (this.drawn.has(id)) continue;
      const card = this.drawQuestion(id, question);
      this.drawn.set(id, { card, shown: JSON.stringify(question) });
      this.root.append(card);
    }
  }

  /** @param {number} id @param {any} question */
  drawQuestion(id, question) {
    if (question.why === "step_limit") {
      const text = `The turn has made ${question.modelCalls} model calls. Continue?`;
      return this.drawCard(id, text, element("p"), [{ name: "Continue", answer: { type: "once" } }], "Stop");
    }
    if (question.dialog) return this.drawDialog(id, question);
    const { call, what, why, offers, because } = question;
    const details = element("div", { class: "proposed" });
    showChange(details, what);
    const asking = question.agent ? `Asked by the sub-agent ${question.agent}.` : "";
    const notes = [asking, REASONS[why], because].filter(Boolean).map((text) => element("p", { class: "notice" }, text));
    details.append(...notes);
    const answers = [
      { name: "Allow once", answer: { type: "once" } },
      ...offers.map((/** @type {string} */ allowance) => ({ name: `Always allow ${offerName(allowance)} in this session`, answer: { type: "always", allowance } })),
    ];
    return this.drawCard(id, questionTitle(call, what), details, answers, "Refuse");
  }

  /** A dialog of an extension. @param {number} id @param {any} question */
  drawDialog(id, question) {
    const card = this.drawDialogCard(id, question);
    // It may look like a question of Osier.
    if (question.extension) card.querySelector("h2")?.after(element("p", { class: "notice" }, `From the extension ${question.extension}`));
    return card;
  }

  /** @param {number} id @param {any} question */
  drawDialogCard(id, { title, dialog, options = [], message, placeholder = "", prefill = "" }) {
    const text = (/** @type {string} */ value) => ({ type: "text", text: value });
    if (dialog === "select") {
      return this.drawCard(id, title, element("p"), options.map((/** @type {string} */ option) => ({ name: option, answer: () => text(option) })), "Cancel", false);
    }
    if (dialog === "confirm") {
      return this.drawCard(id, title, element("p", { dir: "auto" }, message), [{ name: "Yes", answer: () => ({ type: "once" }) }], "No", false);
    }
    const isLong = dialog === "editor";
    const input = /** @type {HTMLInputElement} */ (element(isLong ? "textarea" : "input", { class: "dialog-answer", "aria-label": title, placeholder, rows: isLong ? 6 : null, autocomplete: "off" }));
    input.value = prefill ?? "";
    const answer = () => text(input.value);
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || (isLong && !event.ctrlKey)) return;
      event.preventDefault();
      this.answer(id, answer());
    });
    return this.drawCard(id, title, input, [{ name: "OK", answer }], "Cancel", false);
  }

  /**
   * @param {number} id @param {string} title @param {HTMLElement} details
   * @param {{ name: string, answer: object | (() => object) }[]} answers @param {string} refusal
   * @param {boolean} [hasReason] Whether a refusal can have a reason.
   */
  drawCard(id, title, details, answers, refusal, hasReason = true) {
    const reason = element("input", { type: "text", placeholder: "Reason (optional)", "aria-label": "Reason for the model", autocomplete: "off" });
    const buttons = answers.map(({ name, answer }, at) => {
      const button = element("button", { type: "button", class: at === 0 ? "primary" : null }, name);
      button.addEventListener("click", () => this.answer(id, typeof answer === "function" ? answer() : answer));
      return button;
    });
    const refuse = element("button", { type: "submit", class: hasReason ? "dangerous" : null }, refusal);
    const form = element("form", { class: "refusal" }, ...(hasReason ? [reason] : []), refuse);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.answer(id, { type: "no", reason: /** @type {HTMLInputElement} */ (reason).value });
    });
    const titleId = `question-${id}`;
    return element(
      "section",
      { class: "question", role: "group", "aria-labelledby": titleId, "data-question": id },
      element("h2", { id: titleId, dir: "auto" }, title),
      details,
      element("div", { class: "answers only-full" }, ...buttons, form),
    );
  }

  /** @param {number} id @param {object} answer */
  async answer(id, answer) {
    // Until the page is attached, the number may be that of another question.
    if (!this.session.isAttached) return announce("The connection was lost. Answer again when it is back.");
    const controls = /** @type {HTMLButtonElement[]} */ ([...(this.drawn.get(id)?.card.querySelectorAll("button, input, textarea") ?? [])]);
    controls.forEach((control) => (control.disabled = true));
    try {
      await this.session.send({ type: "answer", question: id, answer });
      byId("prompt").focus();
    } catch (error) {
      controls.forEach((control) => (control.disabled = false));
      announce(/** @type {Error} */ (error).message);
    }
  }
}

/** @param {any} call @param {any} what */
function questionTitle(call, what) {
  if (what.type === "command") return "Allow this command?";
  if (what.type === "diff") return what.created ? `Allow ${call.name} to create ${what.path}?` : `Allow ${call.name} to change ${what.path}?`;
  return `Allow ${call.name}?`;
}

/** @param {string} allowance */
function offerName(allowance) {
  const outside = /^outside:(.*)$/su.exec(allowance);
  if (outside) return `“${outside[1]}” outside the sandbox`;
  const command = /^[^:]+:(.*)$/su.exec(allowance);
  return command ? `“${command[1]}”` : allowance;
}

/** @param {HTMLElement} place @param {any} what */
async function showChange(place, what) {
  const code = (/** @type {string} */ text) => element("pre", { class: "command" }, element("code", {}, text));
  if (what.type === "command") place.prepend(code(what.command));
  if (what.type === "call") place.prepend(code(JSON.stringify(what.arguments, null, 2)));
  if (what.type !== "diff" || what.diff === "") return;
  const plain = code(what.diff);
  place.prepend(plain);
  try {
    const { html } = await fetchJson("/api/render", { parts: [{ type: "diff", text: what.diff }] });
    plain.replaceWith(fragment(html[0]));
  } catch {
    // The plain text says the same.
  }
}
