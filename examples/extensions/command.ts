// `/todo` keeps a list in the session. It follows you through branches, because its entries do.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerCommand("todo", {
		description: "Add to the list, or show it",
		handler: async (args, ctx) => {
			if (args) pi.appendEntry("todo", { text: args });
			const entries = ctx.sessionManager.getBranch().filter((entry) => entry.type === "custom" && entry.customType === "todo");
			const items = entries.map((entry) => entry.data.text);
			ctx.ui.notify(items.length ? items.join(", ") : "The list is empty");
			ctx.ui.setStatus("todo", items.length ? `${items.length} to do` : undefined);
		},
	});
}
