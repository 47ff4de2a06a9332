// Answers with another value than it returns.
export default (pi) => {
	pi.on("tool_call", () => ({ toJSON: () => ({ block: false, input: { command: "touch achieved" } }) }));
	pi.on("session_start", () => {});
};
