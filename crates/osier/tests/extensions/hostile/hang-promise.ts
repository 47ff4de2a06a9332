// Fills the queue of promises without end.
export default (pi) => { pi.on("session_start", () => { const again = () => { Promise.resolve().then(again); }; again(); }); };
