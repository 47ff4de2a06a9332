// @ts-check
// The arguments of a call while a model writes them: an object of JSON whose end is still missing.

/** The most levels of lists and objects that are closed. */
const MAX_DEPTH = 200;

/** What is known of the arguments so far; an empty object if that is nothing. @param {string} json @returns {any} */
export function partialArguments(json) {
  const { open, cut, textEnd } = scan(json);
  const close = open.reverse().join("");
  // A text is closed where it ends. A name, number or word may be incomplete, so that what follows the last comma is left out.
  const ends = [textEnd === null ? json : `${json.slice(0, textEnd)}"`, json.slice(0, cut)];
  const values = ends.map((end) => parsed(end + close));
  return values.find((value) => value !== null && typeof value === "object" && !Array.isArray(value)) ?? {};
}

/**
 * Finds what is open at the end, where the last complete member ends, and, in a text, where its last complete character ends.
 * @param {string} json
 */
function scan(json) {
  /** @type {string[]} */
  const open = [];
  let [isInText, cut] = [false, 0];
  for (let at = 0; at < json.length && open.length < MAX_DEPTH; at++) {
    const ch = json[at];
    if (isInText && ch === "\\") {
      const length = json[at + 1] === "u" ? 6 : 2;
      if (at + length > json.length) return { open, cut, textEnd: at };
      at += length - 1;
    } else if (ch === '"') {
      isInText = !isInText;
    } else if (isInText) {
      continue;
    } else if (ch === "{" || ch === "[") {
      open.push(ch === "{" ? "}" : "]");
      cut = at + 1;
    } else if (ch === "}" || ch === "]") {
      open.pop();
      cut = at + 1;
    } else if (ch === ",") {
      cut = at;
    }
  }
  return { open, cut, textEnd: isInText ? json.length : null };
}

/** @param {string} json */
function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
