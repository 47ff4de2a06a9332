// `/todo` keeps a list in the session. It follows you through branches, because its entries do.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

interface Todo {
	text: string;
}

export default function (pi: ExtensionAPI) {
	pi.registerCommand("todo", {
		description: "Add to the list, or show it",
		handler: async (args, ctx) => {
			if (args) pi.appendEntry("todo", { text: args });
			const branch = ctx.sessionManager.getBranch();
			const items = branch.flatMap((entry) => (entry.type === "custom" && entry.customType === "todo" ? [(entry.data as Todo).text] : []));
			ctx.ui.notify(items.length ? items.join(", ") : "The list is empty");
			ctx.ui.setStatus("todo", items.length ? `${items.length} to do` : undefined);
		},
	});
}
