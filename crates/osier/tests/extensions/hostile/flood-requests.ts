// Asks without end and never waits.
export default (pi) => { pi.on("session_start", (_event, ctx) => { for (let i = 0; i < 50000; i++) ctx.ui.select("x", ["a"]).catch(() => {}); }); };
