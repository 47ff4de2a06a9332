// @ts-check
// The row below the prompt: model, thinking level, approval mode, context and cost.

import { announce, byId, element, visibleText } from "./dom.js";
import { LiveSession } from "./live_session.js";

export class StatusView {
  /** @param {LiveSession} session */
  constructor(session) {
    this.session = session;
    this.model = /** @type {HTMLSelectElement} */ (byId("model"));
    this.thinking = /** @type {HTMLSelectElement} */ (byId("thinking"));
    this.approval = /** @type {HTMLSelectElement} */ (byId("approval"));
    this.shownModel = "";
    this.model.addEventListener("change", () => this.send(this.model, { type: "set_model", model: this.model.value }));
    this.thinking.addEventListener("change", () => this.send(this.thinking, { type: "set_thinking", level: this.thinking.value }));
    this.approval.addEventListener("change", () => this.send(this.approval, { type: "set_approval", mode: this.approval.value }));
    session.store.subscribe((what) => {
      if (what === "status") this.update();
      if (what === "session") this.clear();
    });
  }

  /** @param {HTMLElement} control Busy until the command is done. @param {import("./live_session.js").EngineCommand} command */
  async send(control, command) {
    control.ariaBusy = "true";
    try {
      await this.session.send(command);
    } catch (error) {
      announce(/** @type {Error} */ (error).message);
    }
    control.ariaBusy = null;
    this.session.readStatus();
  }

  /** What another session has is not that of this one. */
  clear() {
    this.shownModel = "";
    this.model.replaceChildren();
    this.thinking.hidden = true;
    byId("context-bar").style.width = "0";
    for (const id of ["context-text", "cost"]) byId(id).textContent = "";
  }

  update() {
    const { status } = this.session.store;
    if (!status) return;
    if (status.model !== this.shownModel) this.readModels(status);
    this.thinking.value = status.thinking;
    this.approval.value = status.approvalMode ?? "default";
    this.approval.classList.toggle("risky", status.approvalMode === "yolo");
    const share = status.contextWindow > 0 ? Math.min(1, status.context.tokens / status.contextWindow) : 0;
    const percent = Math.round(share * 100);
    byId("context-bar").style.width = `${percent}%`;
    const meter = byId("context-meter");
    meter.setAttribute("aria-valuenow", String(percent));
    meter.classList.toggle("high", share > 0.8);
    byId("context-text").textContent = `${percent}% of ${tokens(status.contextWindow)}`;
    byId("usage").title = `${status.context.estimated ? "About " : ""}${status.context.tokens} of ${status.contextWindow} tokens in the context`;
    byId("cost").textContent = status.cost > 0 ? dollars(status.cost) : "";
  }

  /** @param {any} status */
  async readModels(status) {
    this.shownModel = status.model;
    // A page that only reads knows no models.
    const details = await this.session.query({ type: "model_details" }).catch(() => null);
    if (!details) return;
    const { current, usable } = details;
    const names = usable.map((/** @type {any} */ model) => `${model.provider}/${model.id}`);
    if (!names.includes(status.model)) names.unshift(status.model);
    this.model.replaceChildren(...names.map((/** @type {string} */ name) => element("option", { value: name }, name.replace(/^[^/]*\//u, ""))));
    this.model.value = status.model;
    this.model.title = visibleText(status.model);
    const levels = current.thinkingLevels.length > 0 ? current.thinkingLevels : ["off"];
    if (!levels.includes(status.thinking)) levels.push(status.thinking);
    this.thinking.replaceChildren(...levels.map((/** @type {string} */ level) => element("option", { value: level }, level === "off" ? "No thinking" : `${level.charAt(0).toUpperCase()}${level.slice(1)} thinking`)));
    this.thinking.value = status.thinking;
    this.thinking.hidden = levels.length < 2;
  }
}

/** @param {number} amount */
export function dollars(amount) {
  return `$${amount.toFixed(amount < 1 ? 3 : 2)}`;
}

/** @param {number} number */
export function tokens(number) {
  if (number >= 1_000_000) return `${(number / 1_000_000).toFixed(number % 1_000_000 === 0 ? 0 : 1)}M`;
  return number >= 1000 ? `${Math.round(number / 1000)}k` : String(number);
}
