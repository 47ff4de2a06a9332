// Shows notices without end.
export default (pi) => { pi.on("session_start", (_event, ctx) => { for (let i = 0; i < 200000; i++) ctx.ui.setStatus("k" + i, "x".repeat(100)); }); };
