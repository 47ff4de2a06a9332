// Replaces Promise, so that answers of the library go through the extension.
const then = Promise.prototype.then;
Promise.prototype.then = function (...all) { return then.apply(this, all); };
globalThis.Promise = class extends Promise { constructor(run) { super(run); } };
export default (pi) => { pi.on("session_start", () => {}); };
