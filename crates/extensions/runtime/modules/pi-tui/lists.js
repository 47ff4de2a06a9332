// Lists from which the user chooses.

import { fuzzyFilter } from "osier:modules/pi-tui/fuzzy.js";
import { getKeybindings } from "osier:modules/pi-tui/keybindings.js";
import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from "osier:modules/pi-tui/text.js";
import { Input } from "osier:modules/pi-tui/input.js";

const same = (text) => text;
/** The width of the labels of a list, if descriptions stand beside them. */
const PRIMARY_COLUMN = 32;

/** The first index of the visible part. */
const firstVisible = (selected, count, visible) => Math.max(0, Math.min(selected - Math.floor(visible / 2), count - visible));

function move(data, selected, count) {
	const keys = getKeybindings();
	if (keys.matches(data, "tui.select.up")) return selected === 0 ? count - 1 : selected - 1;
	if (keys.matches(data, "tui.select.down")) return selected === count - 1 ? 0 : selected + 1;
	return undefined;
}

export class SelectList {
	onSelect;
	onCancel;
	onSelectionChange;
	#filtered;
	#selected = 0;
	constructor(items, maxVisible = 5, theme = {}, layout = {}) {
		this.items = items;
		this.#filtered = items;
		this.maxVisible = maxVisible;
		this.theme = theme;
		this.layout = layout;
	}
	setFilter(filter) {
		const wanted = String(filter).toLowerCase();
		this.#filtered = this.items.filter((item) => item.value.toLowerCase().startsWith(wanted));
		this.#selected = 0;
	}
	setItems(items) {
		this.items = this.#filtered = items;
		this.#selected = Math.min(this.#selected, Math.max(0, items.length - 1));
	}
	setSelectedIndex(index) {
		this.#selected = Math.max(0, Math.min(index, this.#filtered.length - 1));
	}
	getSelectedIndex() {
		return this.#selected;
	}
	getSelectedItem() {
		return this.#filtered[this.#selected] ?? null;
	}
	invalidate() {}
	render(width) {
		const { selectedPrefix = same, selectedText = same, description = same, scrollInfo = same, noMatch = same } = this.theme;
		const count = this.#filtered.length;
		if (!count) return [noMatch("  No matching commands")];
		const first = firstVisible(this.#selected, count, this.maxVisible);
		const shown = this.#filtered.slice(first, first + this.maxVisible);
		const labelOf = (item) => item.label || item.value;
		const { minPrimaryColumnWidth: low, maxPrimaryColumnWidth: high } = this.layout;
		const [least, most] = [low ?? high ?? PRIMARY_COLUMN, high ?? low ?? PRIMARY_COLUMN];
		const longest = Math.max(...this.#filtered.map((item) => visibleWidth(labelOf(item)))) + 2;
		const column = Math.min(Math.max(least, Math.min(longest, most)), Math.max(1, width - 4));
		const lines = shown.map((item, at) => {
			const isSelected = first + at === this.#selected;
			const prefix = isSelected ? `${selectedPrefix("→")} ` : "  ";
			const about = item.description?.replace(/\s+/g, " ").trim();
			const cut = (room) => this.layout.truncatePrimary?.({ text: labelOf(item), maxWidth: room, columnWidth: column, item, isSelected }) ?? truncateToWidth(labelOf(item), room, "");
			const rest = width - 2 - column - 2;
			if (!about || width <= 40 || rest <= 10) {
				const label = cut(Math.max(1, width - 4));
				return prefix + (isSelected ? selectedText(label) : label);
			}
			const label = truncateToWidth(cut(column - 2), column, "", true);
			const text = truncateToWidth(about, rest, "");
			return isSelected ? prefix + selectedText(label + text) : prefix + label + description(text);
		});
		if (count > this.maxVisible) lines.push(scrollInfo(truncateToWidth(`  (${this.#selected + 1}/${count})`, width - 2, "")));
		return lines;
	}
	handleInput(data) {
		const keys = getKeybindings();
		if (keys.matches(data, "tui.select.cancel")) return this.onCancel?.();
		if (!this.#filtered.length) return;
		const next = move(data, this.#selected, this.#filtered.length);
		if (next !== undefined) {
			this.#selected = next;
			this.onSelectionChange?.(this.getSelectedItem());
		} else if (keys.matches(data, "tui.select.confirm")) this.onSelect?.(this.getSelectedItem());
	}
}

export class SettingsList {
	#selected = 0;
	#submenu = null;
	#search;
	constructor(items, maxVisible, theme, onChange, onCancel, options = {}) {
		Object.assign(this, { items, maxVisible, theme, onChange, onCancel });
		this.#search = options.enableSearch ? new Input() : null;
	}
	updateValue(id, value) {
		const item = this.items.find((known) => known.id === id);
		if (item) item.currentValue = value;
	}
	invalidate() {
		this.#submenu?.invalidate?.();
	}
	#shown() {
		const query = this.#search?.getValue();
		return query ? fuzzyFilter(this.items, query, (item) => item.label) : this.items;
	}
	render(width) {
		if (this.#submenu) return this.#submenu.render(width);
		const items = this.#shown();
		const { label = same, value = same, description = same, hint = same, cursor = "→ " } = this.theme;
		const lines = this.#search ? [...this.#search.render(width), ""] : [];
		const keysHint = hint(truncateToWidth(this.#search ? "  Type to search · Enter/Space to change · Esc to cancel" : "  Enter/Space to change · Esc to cancel", width));
		if (!this.items.length) return this.#search ? [...lines, hint("  No settings available"), "", keysHint] : [hint("  No settings available")];
		if (!items.length) return [...lines, hint(truncateToWidth("  No matching settings", width)), "", keysHint];
		const first = firstVisible(this.#selected, items.length, this.maxVisible);
		const widest = Math.min(30, Math.max(...this.items.map((item) => visibleWidth(item.label))));
		for (const [at, item] of items.slice(first, first + this.maxVisible).entries()) {
			const isSelected = first + at === this.#selected;
			const name = item.label + " ".repeat(Math.max(0, widest - visibleWidth(item.label)));
			const room = Math.max(1, width - 2 - widest - 2 - 2);
			lines.push(truncateToWidth((isSelected ? cursor : "  ") + label(name, isSelected) + "  " + value(truncateToWidth(item.currentValue, room, ""), isSelected), width));
		}
		if (items.length > this.maxVisible) lines.push(hint(truncateToWidth(`  (${this.#selected + 1}/${items.length})`, width - 2, "")));
		const about = items[this.#selected]?.description;
		if (about) lines.push("", ...wrapTextWithAnsi(about, Math.max(1, width - 4)).map((line) => description(`  ${line}`)));
		lines.push("", keysHint);
		return lines;
	}
	selectItem(id) {
		const at = this.#shown().findIndex((item) => item.id === id);
		if (at >= 0) this.#selected = at;
	}
	handleInput(data) {
		if (this.#submenu) return this.#submenu.handleInput?.(data);
		const keys = getKeybindings();
		if (keys.matches(data, "tui.select.cancel")) return this.onCancel?.();
		const items = this.#shown();
		const next = items.length ? move(data, this.#selected, items.length) : undefined;
		if (next !== undefined) this.#selected = next;
		else if (keys.matches(data, "tui.select.confirm") || data === " ") this.#activate(items[this.#selected]);
		else if (this.#search) {
			this.#search.handleInput(data);
			this.#selected = 0;
		}
	}
	#activate(item) {
		if (!item) return;
		if (item.submenu) {
			this.#submenu = item.submenu(item.currentValue, (chosen) => {
				this.#submenu = null;
				if (chosen !== undefined) this.#set(item, chosen);
			});
		} else if (item.values?.length) this.#set(item, item.values[(item.values.indexOf(item.currentValue) + 1) % item.values.length]);
	}
	#set(item, value) {
		item.currentValue = value;
		this.onChange?.(item.id, value);
	}
}
