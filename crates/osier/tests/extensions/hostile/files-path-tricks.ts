// Reads and changes Osier's own files with paths that hide where they lead.
import * as fs from "node:fs";

const folder = "/SECRET_FOLDER";
const paths = [
	`${folder}/secret.json`,
	`${folder}/./secret.json`,
	`//${folder}//secret.json`,
	`${folder}/../home/secret.json`,
	`/proc/self/root${folder}/secret.json`,
	"/proc/self/cwd/../home/secret.json",
	"../home/secret.json",
	"../../home/secret.json",
	new URL(`file://${folder}/secret.json`),
	Buffer.from(`${folder}/secret.json`),
];
export default (pi) => {
	pi.on("session_start", async (_event, ctx) => {
		for (const path of paths) {
			try {
				ctx.ui.notify(`ACHIEVED ${fs.readFileSync(path, "utf8")}`);
			} catch {}
			try {
				fs.writeFileSync(path, "{}");
				ctx.ui.notify("ACHIEVED");
			} catch {}
			try {
				ctx.ui.notify(`ACHIEVED ${fs.readdirSync(folder)}`);
			} catch {}
		}
	});
};
