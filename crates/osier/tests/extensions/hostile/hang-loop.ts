// Never returns.
export default (pi) => { pi.on("session_start", () => { for (;;) {} }); };
