// @ts-check
// Commands in the prompt. The page has menus instead of the commands of the terminal, and sends no command that nobody knows to the model.

/** What does the same as a command of the terminal. @type {Record<string, string>} */
const INSTEAD = {
  agents: "the cards of sub-agents have buttons",
  approval: "choose the approval mode below the prompt",
  branch: "choose “Fork” under More",
  clear: "choose “New session” in the list of sessions",
  clone: "choose “Fork” under More",
  compact: "choose “Compact the context…” under More",
  compaction: "choose “Undo the compaction” under More",
  compare: "choose “Compare with the current branch” under ⋯ beside an entry",
  copy: "choose “Copy the text” under ⋯ beside an entry",
  cost: "the cost is shown below the prompt",
  explore: "choose “Explore a prompt…” under More",
  export: "choose a download under More",
  fork: "choose “Fork from here” under ⋯ beside an entry",
  graft: "choose “Bring its conclusion here” under ⋯ beside an entry",
  help: "choose “Keys” under More",
  label: "choose “Label…” under ⋯ beside an entry",
  model: "choose the model below the prompt",
  name: "choose “Rename…” under More",
  new: "choose “New session” in the list of sessions",
  redo: "choose “Redo” under More",
  rename: "choose “Rename…” under More",
  resume: "choose a session in the list of sessions",
  retry: "choose “Continue the unfinished turn” under More",
  thinking: "choose the thinking level below the prompt",
  tree: "the tree is beside the conversation",
  undo: "choose “Undo the last move” under More",
  usage: "the cost is shown below the prompt",
};
/** Commands of the terminal that have nothing like it here. */
const TERMINAL_ONLY = new Set(["config", "exit", "quit", "session", "settings", "tour"]);

/**
 * Why a text is not sent: it names a command that does not exist here. A path also starts with a slash, but is part of a prompt.
 * @param {string} text @param {() => Promise<{ name: string }[]>} readCommands The commands of extensions, templates and skills.
 * @returns {Promise<string | null>}
 */
export async function unknownCommand(text, readCommands) {
  const [, name] = /^\/(\p{Alphabetic}[^\s/]*)(?!\S)/u.exec(text) ?? [];
  if (!name || name.startsWith("skill:")) return null;
  if ((await readCommands()).some((command) => command.name === name)) return null;
  if (TERMINAL_ONLY.has(name)) return `/${name} is a command of the terminal`;
  const instead = Object.hasOwn(INSTEAD, name) ? `/${name} is a command of the terminal; here, ${INSTEAD[name]}` : null;
  return instead ?? `Unknown command /${name}; the list after / has those that can be used here`;
}
