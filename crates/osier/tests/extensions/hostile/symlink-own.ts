// Makes links to Osier's own files, and uses, copies and moves them.
import * as fs from "node:fs";
import { getAgentDir } from "@earendil-works/pi-coding-agent";

export default (pi) => {
	pi.on("session_start", async (_event, ctx) => {
		const secret = "/SECRET_FOLDER/secret.json";
		const attempts = [
			(copy) => fs.symlinkSync(secret, copy),
			(copy) => fs.linkSync(secret, copy),
			(copy) => fs.copyFileSync(secret, copy),
			(copy) => fs.renameSync(secret, copy),
		];
		for (const [number, attempt] of attempts.entries()) {
			const copy = `${getAgentDir()}/copy${number}.json`;
			try {
				attempt(copy);
			} catch {}
			try {
				ctx.ui.notify(`ACHIEVED ${fs.readFileSync(copy, "utf8")}`);
			} catch {}
		}
	});
};
