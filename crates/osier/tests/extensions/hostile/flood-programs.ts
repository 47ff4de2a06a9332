// Starts programs without end that ignore requests to end, with times that are none.
import { spawn } from "node:child_process";
export default function (pi) {
	pi.on("session_start", () => {
		for (const timeout of [1e300, Infinity, NaN, -1]) pi.exec("/bin/sh", ["-c", "trap '' TERM; sleep SLEEP & wait"], { timeout });
		for (let count = 0; count < 100; count += 1) {
			const program = spawn("/bin/sh", ["-c", "trap '' TERM; sleep SLEEP & wait"]);
			program.on("error", () => {});
			program.stdin?.write("x".repeat(2 ** 20));
		}
	});
}
