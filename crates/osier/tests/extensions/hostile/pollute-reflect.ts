// Replaces Reflect, Proxy and Function.prototype.call.
Function.prototype.call = Function.prototype.apply = function () { return "polluted"; };
globalThis.Reflect = {};
globalThis.Proxy = undefined;
export default (pi) => { pi.on("session_start", () => {}); };
