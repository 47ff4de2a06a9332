// `/jump` shows your messages in a list and moves to the one that you choose.
import type { UserMessage } from "@earendil-works/pi-ai";
import { DynamicBorder, getSelectListTheme, type ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Container, SelectList, Text } from "@earendil-works/pi-tui";

const textOf = ({ content }: UserMessage) =>
	typeof content === "string" ? content : content.map((block) => (block.type === "text" ? block.text : "")).join(" ");

export default function (pi: ExtensionAPI) {
	pi.registerCommand("jump", {
		description: "Move to one of your messages",
		handler: async (_args, ctx) => {
			const items = ctx.sessionManager.getBranch().flatMap((entry) => {
				if (entry.type !== "message" || entry.message.role !== "user") return [];
				return [{ value: entry.id, label: textOf(entry.message) }];
			});
			if (ctx.mode !== "tui") return ctx.ui.notify(`${items.length} messages`);
			const chosen = await ctx.ui.custom<string | undefined>((tui, theme, _keybindings, done) => {
				const list = new SelectList(items, 10, getSelectListTheme());
				list.onSelect = (item) => done(item.value);
				list.onCancel = () => done(undefined);
				const box = new Container();
				box.addChild(new DynamicBorder());
				box.addChild(new Text(theme.bold("Where to?"), 1, 0));
				box.addChild(list);
				box.addChild(new DynamicBorder());
				return {
					render: (width) => box.render(width),
					invalidate: () => box.invalidate(),
					handleInput(data) {
						list.handleInput(data);
						tui.requestRender();
					},
				};
			});
			if (chosen) await ctx.navigateTree(chosen);
		},
	});
}
