// Answers with 100 MB.
export default (pi) => { pi.on("input", () => ({ action: "transform", text: "x".repeat(100 << 20) })); };
