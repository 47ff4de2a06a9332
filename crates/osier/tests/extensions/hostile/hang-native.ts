// Stays in a native function, where it cannot be interrupted.
export default (pi) => { pi.on("session_start", () => { /(a*)*b/.exec("a".repeat(40)); "a".repeat(1 << 28).split("").sort().join(); }); };
