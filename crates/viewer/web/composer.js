// @ts-check
// The prompt: sends, steers, queues, cancels, and continues from the selected entry.

import { unknownCommand } from "./commands.js";
import { Completion } from "./completion.js";
import { EngineError } from "./connection.js";
import { askDialog } from "./dialog.js";
import { announce, byId, drawIfChanged, element, onNarrow } from "./dom.js";
import { LiveSession } from "./live_session.js";
import { previewText } from "./tree.js";

/** @typedef {{ text: string, images: { mimeType: string, data: string }[], isTyped: boolean }} EditedPrompt */

/** @typedef {{ sessionId: string, prompt: EditedPrompt, entries: number | null }} SentPrompt A prompt that is being sent, and the number of entries before, if it was known. */

/** Where Enter starts a new line: the keyboard is on the screen. */
const TOUCH = matchMedia("(hover: none) and (pointer: coarse)");
const IMAGE_TYPES = /^image\/(?:png|jpeg|gif|webp)$/u;
/** The largest image that is attached, in bytes. */
const MAX_IMAGE = 8 << 20;
/** The most new messages that a prompt is compared with. */
const MAX_COMPARED = 20;
/** The most files that are offered after `@`. */
const MAX_FILES = 20_000;

export class Composer {
  /** @param {LiveSession} session @param {() => void} showEnd Shows the end of the path to the leaf. */
  constructor(session, showEnd) {
    this.session = session;
    this.showEnd = showEnd;
    this.input = /** @type {HTMLTextAreaElement} */ (byId("prompt"));
    /** @type {{ mimeType: string, data: string }[]} */
    this.images = [];
    /** The prompt that is being sent. @type {Promise<void>} */
    this.sending = Promise.resolve();
    const kept = readKept();
    /** Prompts that left the editor and are not sent yet. @type {SentPrompt[]} */
    this.outgoing = [];
    /** Prompts that may have been accepted when the connection was lost. They are in the editor, too. @type {SentPrompt[]} */
    this.unconfirmed = kept.unconfirmed;
    this.isConfirming = false;
    /** The prompts that a session returned, as JSON. They are in the editor already. @type {Map<string, string>} */
    this.returned = new Map(kept.returned);
    this.sessionId = "";
    /** Whether you typed what is in the editor. Prompts that return and texts of extensions may contain a shell command that you did not write. */
    this.isTyped = true;
    /** @type {Map<string, EditedPrompt>} What was not sent, by session. */
    this.unsent = new Map(kept.unsent);
    this.completion = new Completion(this.input, (isFile) => this.candidates(isFile));
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit(/** @type {any} */ (event).submitter?.value === "follow_up" ? "follow_up" : "steer");
    });
    byId("cancel").addEventListener("click", () => this.cancel());
    const files = /** @type {HTMLInputElement} */ (byId("image-files"));
    byId("attach").addEventListener("click", () => files.click());
    files.addEventListener("change", () => {
      this.attach([...(files.files ?? [])]);
      files.value = "";
      this.input.focus();
    });
    // There is no room for more.
    const { placeholder } = this.input;
    onNarrow((isNarrow) => (this.input.placeholder = isNarrow ? "Ask anything" : placeholder));
    this.input.addEventListener("keydown", (event) => this.handleKey(event));
    this.input.addEventListener("input", () => {
      this.isTyped ||= this.input.value === "";
      this.resize();
    });
    this.input.addEventListener("paste", (event) => this.attach([...(event.clipboardData?.files ?? [])]));
    byId("composer").addEventListener("dragover", (event) => event.preventDefault());
    byId("composer").addEventListener("drop", (event) => {
      event.preventDefault();
      this.attach([...(event.dataTransfer?.files ?? [])]);
    });
    addEventListener("pagehide", () => this.keepUnsent());
    document.addEventListener("visibilitychange", () => document.hidden && this.keepUnsent());
    session.store.subscribe((what) => {
      if (what === "session") this.changeSession(session.store.sessionMeta.sessionId);
      if (what === "extensions" || what === "path") this.drawExtensions();
      if (what === "runtime" || what === "selection" || what === "path" || what === "session") this.update();
      if (what === "runtime" || what === "status") this.confirmSent();
    });
  }

  /** A text that was typed for one session is not sent to another. @param {string} sessionId */
  changeSession(sessionId) {
    if (sessionId === this.sessionId) return;
    const current = { text: this.input.value, images: this.images, isTyped: this.isTyped };
    const kept = this.unsent.get(sessionId) ?? { text: "", images: [], isTyped: true };
    // While the page starts, the prompt is there before its session.
    const isFirst = this.sessionId === "";
    if (!isFirst) this.unsent.set(this.sessionId, current);
    this.sessionId = sessionId;
    const { text, images, isTyped } = isFirst ? joinPrompts([kept, current]) : kept;
    if (text !== this.input.value || images.length > 0) this.setPrompt(text, images);
    this.isTyped = isTyped;
  }

  /** Keeps what was not sent in this tab, so that a refresh does not lose it. */
  keepUnsent() {
    if (this.sessionId) this.unsent.set(this.sessionId, { text: this.input.value, images: this.images, isTyped: this.isTyped });
    const unsent = new Map(this.unsent);
    // A refresh ends the requests that are under way.
    for (const { sessionId, prompt } of [...this.outgoing].reverse()) {
      unsent.set(sessionId, joinPrompts([prompt, ...(unsent.has(sessionId) ? [unsent.get(sessionId)] : [])]));
    }
    const all = [...unsent].filter(([, { text, images }]) => text !== "" || images.length > 0);
    const withoutImages = all.map(([id, prompt]) => [id, { ...prompt, images: [] }]);
    const others = { unconfirmed: [...this.unconfirmed, ...this.outgoing].map(withoutImageData), returned: [...this.returned] };
    for (const kept of [all, withoutImages]) {
      try {
        return sessionStorage.setItem(UNSENT, JSON.stringify({ unsent: kept, ...others }));
      } catch {
        // Too large for this browser.
      }
    }
  }

  /** Prompts stay returned until the next one is sent. They go to the editor once, also if the page is loaded again. @param {any[]} prompts */
  takeReturned(prompts) {
    const key = prompts.length > 0 ? JSON.stringify(prompts.map(({ text, images = [] }) => [text, images.length])) : "";
    if (key !== "" && key !== this.returned.get(this.sessionId)) this.returnPrompts(prompts);
    this.returned.set(this.sessionId, key);
  }

  /** Removes prompts from the editor that were accepted although their confirmation was lost with the connection. */
  async confirmSent() {
    if (this.isConfirming || this.unconfirmed.length === 0 || !this.session.isUpToDate) return;
    this.isConfirming = true;
    const { sessionId } = this;
    for (const sent of this.unconfirmed.filter((other) => other.sessionId === sessionId)) {
      if (!(await this.wasAccepted(sent)) || sessionId !== this.sessionId) continue;
      this.unconfirmed = this.unconfirmed.filter((other) => other !== sent);
      this.removeSent(sent.prompt);
    }
    this.isConfirming = false;
  }

  /** Whether the session got a prompt. @param {SentPrompt} sent */
  async wasAccepted(sent) {
    const { text } = sent.prompt;
    const { queue, entries: rows } = this.session.store;
    if ([...queue.steering, ...queue.followUp].includes(text)) return true;
    if (sent.entries === null) return false;
    const added = rows.slice(sent.entries).filter((row) => row.type === "message" && row.role === "user");
    for (const { id } of added.slice(-MAX_COMPARED)) {
      const stored = await this.session.query({ type: "entry", id }).catch(() => null);
      if (stored?.text.trim() === text) return true;
    }
    // They are not compared again.
    sent.entries = rows.length;
    return false;
  }

  /** @param {EditedPrompt} sent A prompt that is in the editor, before what was typed since. */
  removeSent({ text, images }) {
    const { value } = this.input;
    if (value !== text && !value.startsWith(`${text}\n\n`)) return;
    const { isTyped } = this;
    this.setPrompt(value.slice(text.length).trimStart(), this.images.slice(images.length));
    this.isTyped ||= isTyped;
    announce("The prompt was sent before the connection was lost");
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    if (event.isComposing || this.completion.handleKey(event)) return;
    if (event.key === "Enter" && !event.shiftKey && (!TOUCH.matches || event.ctrlKey || event.metaKey || event.altKey)) {
      event.preventDefault();
      this.submit(event.altKey ? "follow_up" : "steer");
    } else if (event.key === "Escape" && this.session.store.isWorking()) {
      this.cancel();
    } else if (event.key === "ArrowUp" && event.altKey) {
      // The browser would scroll.
      event.preventDefault();
      this.takeQueue();
    }
  }

  /** What can be completed: the files of the project, or commands of extensions, templates and skills. @param {boolean} isFile */
  async candidates(isFile) {
    if (!isFile) {
      const { commands } = await this.session.query({ type: "commands" });
      return commands.map((/** @type {any} */ command) => ({ text: `/${command.name}`, description: command.description }));
    }
    const { files } = await this.session.query({ type: "files", limit: MAX_FILES });
    // A mention ends at a space.
    return files.filter((/** @type {string} */ file) => !/\s/u.test(file)).map((/** @type {string} */ file) => ({ text: `@${file}`, description: "" }));
  }

  resize() {
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight + 2, innerHeight * 0.4)}px`;
  }

  /** @param {string} text */
  setText(text) {
    this.isTyped = text === "";
    this.input.value = text;
    this.completion.close();
    this.resize();
  }

  /** Replaces what is in the editor. @param {string} text @param {any[]} images */
  setPrompt(text, images) {
    this.setText(text);
    this.images = images;
    this.drawImages();
  }

  /** Puts prompts that were not sent back into the editor. @param {any[]} prompts */
  returnPrompts(prompts) {
    const { text, images, isTyped } = joinPrompts([...prompts, { text: this.input.value, images: this.images, isTyped: this.isTyped }]);
    this.setPrompt(text, images);
    this.isTyped ||= isTyped;
  }

  update() {
    const { store } = this.session;
    const isMoving = store.pendingLeafConfirmation !== null;
    byId("cancel").hidden = !store.isWorking();
    byId("queue-prompt").hidden = !store.turnRunning;
    const send = /** @type {HTMLButtonElement} */ (byId("send"));
    send.textContent = store.turnRunning ? "Steer" : "Send";
    send.title = store.turnRunning ? "Send before the next model call (Enter)" : "Send (Enter)";
    send.disabled = isMoving;
    this.drawContinuation(isMoving);
    this.drawQueue();
  }

  /** @param {boolean} isMoving */
  drawContinuation(isMoving) {
    const place = byId("continue-from");
    const row = this.session.connection.isReadOnly ? null : this.session.store.continuation();
    place.hidden = !row && !isMoving;
    drawIfChanged(place, isMoving || row, () => (isMoving ? ["Moving…"] : row ? this.continuationParts(row) : []));
  }

  /** @param {import("./state.js").Row} row */
  continuationParts(row) {
    const isOwn = row.role === "user" && row.type === "message";
    const text = isOwn ? "Replaces on a new branch:" : "Continues on a new branch from:";
    const button = (/** @type {string} */ name, /** @type {() => void} */ run) => {
      const made = element("button", { type: "button" }, name);
      made.addEventListener("click", run);
      return made;
    };
    const edit = isOwn ? [button("Edit it", () => this.edit(row.id))] : [];
    return [element("span", {}, text), element("q", { dir: "auto" }, previewText(row)), ...edit, button("Back to the leaf", () => this.returnToEnd())];
  }

  returnToEnd() {
    this.showEnd();
    // The button is gone. On a phone, the focus would open the keyboard.
    if (!TOUCH.matches) this.input.focus();
  }

  /** Puts the text of a stored message into the editor. @param {string} id */
  async edit(id) {
    const answer = await this.session.query({ type: "entry", id });
    this.setText(answer.text);
    this.input.focus();
  }

  /** What extensions show beside the editor. */
  drawExtensions() {
    const { extensionStatus, extensionWidgets } = this.session.store;
    const [widgets, statuses] = [[...extensionWidgets.values()], [...extensionStatus.values()]];
    drawIfChanged(byId("extensions"), [widgets, statuses], () => [
      ...widgets.map((widget) => element("pre", { dir: "auto" }, widget.join("\n"))),
      ...statuses.map((text) => element("span", { dir: "auto" }, text)),
    ]);
  }

  drawQueue() {
    const { queue } = this.session.store;
    drawIfChanged(byId("queue"), queue, () => this.queueParts(queue));
  }

  /** @param {{ steering: string[], followUp: string[] }} queue */
  queueParts({ steering, followUp }) {
    const row = (/** @type {string} */ kind) => (/** @type {string} */ text) =>
      element("p", { class: "queued" }, element("b", {}, kind), element("span", { dir: "auto" }, text));
    const rows = [...steering.map(row("Steering")), ...followUp.map(row("Queued"))];
    if (rows.length === 0) return [];
    const take = element("button", { type: "button", class: "only-full", title: "Alt+Up" }, "Edit queued prompts");
    take.addEventListener("click", () => this.takeQueue());
    return [...rows, take];
  }

  async takeQueue() {
    await this.guard(async () => {
      const reply = await this.session.send({ type: "clear_queue" });
      this.returnPrompts(reply.prompts ?? []);
    });
  }

  async cancel() {
    await this.guard(async () => {
      const reply = await this.session.send({ type: "cancel" });
      this.returnPrompts(reply.prompts ?? []);
      announce("Stopped");
    });
  }

  /**
   * Empties the editor at once, so that what is typed next is not added to the prompt. Prompts are sent one after the other.
   * @param {"steer" | "follow_up"} when When to send it if a turn is running.
   */
  async submit(when) {
    const prompt = { text: this.input.value.trim(), images: this.images, isTyped: this.isTyped };
    if (this.session.store.pendingLeafConfirmation || (prompt.text === "" && prompt.images.length === 0)) return;
    this.setText("");
    this.images = [];
    this.drawImages();
    const { sessionId } = this.session.store.sessionMeta;
    /** @type {SentPrompt} */
    const sent = { sessionId, prompt, entries: this.session.store.isComplete ? this.session.store.entries.length : null };
    this.outgoing.push(sent);
    // Another prompt may be the same one.
    this.unconfirmed = this.unconfirmed.filter((other) => other.sessionId !== sessionId);
    this.sending = this.sending.then(() => this.sendPrompt(sent, when));
    await this.sending;
  }

  /**
   * A prompt that cannot be sent returns to the editor.
   * @param {SentPrompt} sent @param {"steer" | "follow_up"} when
   */
  async sendPrompt(sent, when) {
    const { sessionId, prompt } = sent;
    const { store } = this.session;
    let wasSent = false;
    const failure = await this.guard(async () => {
      if (store.sessionMeta.sessionId !== sessionId) return announce("Another session was opened. The prompt was not sent.");
      const isRunning = store.turnRunning;
      const shell = /^(!!?)\s*(.+)$/su.exec(prompt.text);
      const refusal = await unknownCommand(prompt.text, async () => (await this.session.query({ type: "commands" })).commands);
      if (refusal) return announce(refusal);
      if (shell && !prompt.isTyped && !(await askDialog({ title: "Run this shell command?", text: shell[2], action: "Run" }))) return;
      if (!(await this.session.moveToSelected())) return;
      this.showEnd();
      store.turnError = null;
      // The reply to a command arrives when the command has ended.
      if (shell) this.session.send({ type: "run_shell", command: shell[2], excludeFromContext: shell[1] === "!!" }).catch((error) => announce(error.message));
      else await this.session.prompt(prompt.text, prompt.images, isRunning ? when : "now");
      wasSent = true;
    });
    this.outgoing = this.outgoing.filter((other) => other !== sent);
    if (failure?.code === "connection_lost") this.unconfirmed.push(sent);
    if (!wasSent && sessionId === this.sessionId) this.returnPrompts([prompt]);
    else if (!wasSent) this.unsent.set(sessionId, joinPrompts([prompt, ...(this.unsent.has(sessionId) ? [this.unsent.get(sessionId)] : [])]));
    this.update();
    this.confirmSent();
  }

  /** Shows errors, and returns them. @param {() => Promise<void>} run @returns {Promise<EngineError | null>} */
  async guard(run) {
    try {
      await run();
      return null;
    } catch (error) {
      const failure = /** @type {EngineError} */ (error);
      announce(failure.code === "leaf_changed" ? "The session has moved on. Look at the new messages and send again." : failure.message);
      return failure;
    }
  }

  /** @param {File[]} files */
  async attach(files) {
    for (const file of files) {
      if (!IMAGE_TYPES.test(file.type)) announce("Only PNG, JPEG, GIF and WebP images can be attached");
      else if (file.size > MAX_IMAGE) announce(`${file.name} is larger than 8 MB`);
      else this.images = [...this.images, { mimeType: file.type, data: await base64(file) }];
    }
    this.drawImages();
  }

  drawImages() {
    const list = byId("attachments");
    list.hidden = this.images.length === 0;
    list.replaceChildren(
      ...this.images.map((image) => {
        const remove = element("button", { type: "button", "aria-label": "Remove the image" }, "×");
        remove.addEventListener("click", () => {
          this.images = this.images.filter((other) => other !== image);
          this.drawImages();
        });
        return element("li", {}, element("img", { src: `data:${image.mimeType};base64,${image.data}`, alt: "Attached image" }), remove);
      }),
    );
  }
}

/** Where a tab keeps what was not sent. */
const UNSENT = "osier.unsent";

/** @returns {{ unsent: [string, EditedPrompt][], unconfirmed: SentPrompt[], returned: [string, string][] }} */
function readKept() {
  const nothing = { unsent: [], unconfirmed: [], returned: [] };
  try {
    return { ...nothing, ...JSON.parse(sessionStorage.getItem(UNSENT) ?? "{}") };
  } catch {
    return nothing;
  }
}

/** The number of images is kept, because it is known which ones they are. @param {SentPrompt} sent */
function withoutImageData(sent) {
  return { ...sent, prompt: { ...sent.prompt, images: sent.prompt.images.map(() => null) } };
}

/** Prompts as one. @param {any[]} prompts */
function joinPrompts(prompts) {
  return {
    text: prompts.map((prompt) => prompt.text).filter(Boolean).join("\n\n"),
    images: prompts.flatMap((prompt) => prompt.images ?? []),
    isTyped: prompts.every((prompt) => prompt.isTyped === true),
  };
}

/** @param {File} file @returns {Promise<string>} */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/u, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
