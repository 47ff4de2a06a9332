// Answers every gate with values of other shapes.
const odd = [null, 0, "", [], () => {}, Symbol.iterator, 1n, NaN, new Map(), new Proxy({}, { get() { throw new Error("trap"); } })];
let next = 0;
export default (pi) => {
	for (const name of ["context", "input", "before_agent_start", "turn_end", "session_before_compact", "session_before_tree", "tool_result", "message_end"]) {
		pi.on(name, () => odd[next++ % odd.length]);
	}
};
