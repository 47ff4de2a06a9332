// Registers without end.
export default (pi) => {
	for (let i = 0; i < 20000; i++) {
		pi.on("input", () => {});
		pi.registerCommand("c" + i, { handler: () => {} });
	}
};
