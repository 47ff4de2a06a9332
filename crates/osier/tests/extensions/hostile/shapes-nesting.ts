// Code that is nested so deeply that a parser might use up its stack.
export default function (pi) {
	pi.registerCommand("x", { handler: (ctx) => {} });
	throw new Error(NESTED);
}
