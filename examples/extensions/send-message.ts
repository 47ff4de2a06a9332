// `/review FILE` gives the model a file and starts a turn.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerCommand("review", {
		description: "Ask for a review of a file",
		handler: async (args, ctx) => {
			const text = readFileSync(resolve(ctx.cwd, args), "utf8");
			const content = `Review this file:\n\n${text}`;
			pi.sendMessage({ customType: "review", content, display: true, details: { file: args } }, { triggerTurn: true });
		},
	});
}
