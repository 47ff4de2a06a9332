// @ts-check
// Labels, edited in place in the tree.

import { Actions } from "./actions.js";
import { element } from "./dom.js";
import { TreeView } from "./tree.js";

export class LabelEditor {
  /** @param {TreeView} tree @param {Actions} actions */
  constructor(tree, actions) {
    this.tree = tree;
    this.actions = actions;
    tree.root.addEventListener("dblclick", (event) => {
      const at = Number(/** @type {Element} */ (event.target).closest("[data-row]")?.getAttribute("data-row") ?? -1);
      const id = tree.idAt(at);
      if (id) this.edit(id);
    });
  }

  /** Opens an editor in the row of an entry; in a dialog if the row is not drawn, or the tree is closed. @param {string} selected */
  edit(selected) {
    if (this.actions.session.connection.isReadOnly) return;
    const id = this.tree.cursorId() ?? selected;
    const row = this.tree.rowElement(id);
    if (!row?.checkVisibility()) return void this.actions.label(id);
    const input = /** @type {HTMLInputElement} */ (element("input", { type: "text", class: "label-input", "aria-label": "Label; empty removes it", placeholder: "Label" }));
    input.value = this.tree.store.labelsByEntryId.get(id) ?? "";
    row.querySelector(".label")?.remove();
    row.querySelector(".preview")?.before(input);
    this.tree.isPaused = true;
    let isDone = false;
    const finish = (/** @type {boolean} */ isSaved) => {
      if (isDone) return;
      isDone = true;
      this.tree.isPaused = false;
      this.tree.update();
      this.tree.root.focus();
      if (isSaved && input.value.trim() !== (this.tree.store.labelsByEntryId.get(id) ?? "")) this.actions.setLabel(id, input.value);
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") finish(true);
      if (event.key === "Escape") finish(false);
    });
    input.addEventListener("click", (event) => event.stopPropagation());
    input.addEventListener("blur", () => finish(true));
    input.focus();
    input.select();
  }
}
