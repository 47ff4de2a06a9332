// Draws its own messages: /status TEXT stores a message that the model gets too, and the terminal shows it in one line.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";

export default function (pi: ExtensionAPI) {
	pi.registerMessageRenderer<{ level: string }>("status", (message, { expanded }, theme) => {
		const level = message.details?.level ?? "info";
		const more = expanded ? ` (${message.customType})` : "";
		return new Text(`${theme.fg(level === "warn" ? "warning" : "accent", `[${level}]`)} ${message.content}${more}`, 0, 0);
	});

	pi.registerCommand("status", {
		description: "Stores a status message",
		handler: async (args) => {
			const level = args.startsWith("warn ") ? "warn" : "info";
			pi.sendMessage({ customType: "status", content: args.replace(/^warn /, ""), display: true, details: { level } });
		},
	});
}
