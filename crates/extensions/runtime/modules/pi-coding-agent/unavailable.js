// Functions and classes that only say that Osier does not have them.

export function unavailable(name, instead) {
	return () => {
		throw new Error(`${name} is not available in Osier's extensions${instead ? `; ${instead}` : ""}`);
	};
}

export function notConstructible(name, instead) {
	const create = unavailable(name, instead);
	return class {
		constructor() {
			create();
		}
	};
}
