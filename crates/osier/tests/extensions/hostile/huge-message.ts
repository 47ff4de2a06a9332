// Sends a message of 100 MB.
export default (pi) => { pi.on("session_start", (_event, ctx) => { ctx.ui.notify("x".repeat(100 << 20)); }); };
