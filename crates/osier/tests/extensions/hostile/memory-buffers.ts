// Keeps buffers until memory ends.
export default (pi) => { pi.on("session_start", () => { const all = []; for (;;) all.push(new Uint8Array(1 << 24).fill(1)); }); };
