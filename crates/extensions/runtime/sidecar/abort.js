// Node has these; an extension and its packages must get the same classes.

import { setControllerFactory } from "osier:primitives.js";

const { AbortController, AbortSignal, CustomEvent, DOMException, Event, EventTarget } = globalThis;
export { AbortController, AbortSignal, CustomEvent, DOMException, Event, EventTarget };

setControllerFactory(() => new AbortController());
