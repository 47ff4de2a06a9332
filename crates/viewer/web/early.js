// @ts-check
// Runs before the other modules have arrived, and before the first paint: applies the chosen theme, and asks for the end of the
// session that the address names.

import { applyTheme } from "./dom.js";

applyTheme();

/** The entries of the first screen. */
export const FIRST_ENTRIES = 24;

const address = new URLSearchParams(location.hash.slice(1));
const sessionId = address.get("session");
const namesPlace = address.has("entry") || address.has("at");

/** @type {{ sessionId: string, last: Promise<any> } | null} The end of a session, unless the address names another place or no session. */
export const early = sessionId && !namesPlace ? { sessionId, last: fetchLast(sessionId) } : null;
// If it fails, opening the session tells why.
early?.last.catch(() => {});

/** @param {string} id */
async function fetchLast(id) {
  const response = await fetch(`/api/sessions/${encodeURIComponent(id)}/rendered?last=${FIRST_ENTRIES}`);
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}
