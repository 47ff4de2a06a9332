// Doubles a text until memory ends.
export default (pi) => { pi.on("session_start", () => { let text = "x"; for (;;) text += text; }); };
