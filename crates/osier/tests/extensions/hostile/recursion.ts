// Recurses without end, also in getters, JSON and regular expressions.
export default (pi) => {
	pi.on("session_start", () => {
		const deep = () => deep();
		try { deep(); } catch {}
		let nested = {};
		for (let i = 0; i < 200000; i++) nested = { nested };
		return nested;
	});
};
