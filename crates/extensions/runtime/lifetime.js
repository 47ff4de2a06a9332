// Which `pi` and `ctx` are still valid. After the session was replaced, those of the old one throw.

let current = 0;

/** The number of the session that something belongs to. */
export const sessionNumber = () => current;

/** From now on, what belongs to earlier sessions throws. */
export function startNextSession() {
	current += 1;
}

export function checkCurrent(number) {
	if (number !== current) {
		throw new Error("This object belongs to a session that was replaced. Use the ctx that withSession gets.");
	}
}

/** A function that throws after its session was replaced. */
export function bound(run) {
	const number = current;
	return (...args) => {
		checkCurrent(number);
		return run(...args);
	};
}
