// Lets functions of the library call eval, so that the code might count as theirs.
export default function (pi) {
	const code = "import('osier:primitives.js').then((library) => console.log('ACHIEVED', Object.keys(library)), () => {})";
	const tries = [
		() => setTimeout(eval, 0, code),
		() => queueMicrotask(eval.bind(undefined, code)),
		() => Promise.resolve(code).then(eval),
		() => [code].forEach(eval),
		() => code.replace(/^.*$/s, eval),
		() => new Function(code)(),
		() => new (async () => {}).constructor(code)(),
		() => JSON.parse("[1]", () => eval(code)),
		() => (pi.events.on("x", eval), pi.events.emit("x", code)),
		() => pi.on("session_start", () => [code].map(eval)),
		() => pi.registerCommand("x", { handler: eval }),
		() => new Proxy({}, { get: (_, name) => eval(name) })[code],
	];
	for (const attempt of tries) {
		try {
			attempt();
		} catch {}
	}
	pi.on("session_start", eval);
	pi.on("input", new Function(code));
}
