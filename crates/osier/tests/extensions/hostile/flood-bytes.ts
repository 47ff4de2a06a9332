// Few messages, but each almost as large as a frame can be.
export default function (pi) {
	pi.on("session_start", () => {
		const text = "x".repeat(30 * 2 ** 20);
		for (let count = 0; count < 12; count += 1) pi.events.emit("x", text);
	});
}
