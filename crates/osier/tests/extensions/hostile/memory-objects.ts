// Keeps objects until memory ends.
export default (pi) => { pi.on("session_start", () => { const all = []; for (;;) all.push(new Array(10000).fill({})); }); };
