// Starts timers without end.
export default (pi) => { pi.on("session_start", () => { for (let i = 0; i < 100000; i++) setInterval(() => {}, 0); }); };
