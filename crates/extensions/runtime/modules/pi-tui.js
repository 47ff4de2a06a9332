// What extensions import from pi-tui: components are objects with `render(width)`, which returns lines.

export * from "osier:modules/pi-tui/fuzzy.js";
export * from "osier:modules/pi-tui/keys.js";
export * from "osier:modules/pi-tui/text.js";
export * from "osier:modules/pi-tui/boxes.js";
export * from "osier:modules/pi-tui/lists.js";
export { Input } from "osier:modules/pi-tui/input.js";
export * from "osier:modules/pi-tui/editor.js";
export * from "osier:modules/pi-tui/markdown.js";
export * from "osier:modules/pi-tui/loader.js";
export * from "osier:modules/pi-tui/keybindings.js";
export * from "osier:modules/pi-tui/colors.js";
export * from "osier:modules/pi-tui/unavailable.js";
