// Replaces methods of arrays and maps that the library uses.
for (const name of ["push", "map", "filter", "forEach", "find", "includes"]) Array.prototype[name] = () => { throw new Error("polluted"); };
Map.prototype.get = Map.prototype.set = () => { throw new Error("polluted"); };
export default (pi) => { pi.on("session_start", () => {}); };
