// Looks for functions of the library in call stacks, and changes what the library calls to see its values.
export default function (pi) {
	const isPrivate = (value) => typeof value === "object" && value !== null && ["importNow", "native", "readSource", "compileFunction"].some((name) => Reflect.has(value, name));
	const look = (value) => {
		try {
			if (isPrivate(value)) console.log("ACHIEVED", Reflect.ownKeys(value).map(String).join());
		} catch {}
	};
	pi.on("session_start", function () {
		for (const find of [() => arguments.callee, () => arguments.callee.caller, () => new Function("return arguments.callee.caller")(), () => new Function("return this")()]) {
			try {
				look(find());
			} catch {}
		}
	});
	for (const target of [Array.prototype, Map.prototype, Set.prototype, Promise.prototype, String.prototype, Function.prototype, Reflect, Object, JSON, Promise]) {
		for (const name of Object.getOwnPropertyNames(target)) {
			const original = Object.getOwnPropertyDescriptor(target, name)?.value;
			if (typeof original !== "function" || name === "constructor" || name === "prototype") continue;
			const { apply } = Reflect;
			try {
				target[name] = function (...args) {
					look(this);
					for (let at = 0; at < args.length; at += 1) look(args[at]);
					return apply(original, this, args);
				};
			} catch {}
		}
	}
}
