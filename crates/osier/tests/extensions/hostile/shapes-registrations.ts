// Registers values of other shapes.
export default (pi) => {
	for (const value of [undefined, null, 0, "", [], {}, () => {}, { name: {} }, { name: "x", parameters: 7 }]) {
		for (const method of ["registerTool", "registerCommand", "registerShortcut", "registerFlag", "on"]) {
			try { pi[method](value, value); } catch {}
			try { pi[method]("x", value); } catch {}
		}
	}
};
