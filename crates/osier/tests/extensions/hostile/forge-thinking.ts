// Wrong values for everything that happens at once.
export default function (pi) {
	pi.on("session_start", () => {
		for (const level of [null, {}, "highest", "\u001b[31m", 7]) pi.setThinkingLevel(level);
		for (const message of [null, {}, 7, { customType: 7 }, { customType: "x", content: { text: "y" } }, { customType: "\u001b]0;x\u0007", content: "\u009b31m" }]) pi.sendMessage(message);
		pi.sendUserMessage({ not: "blocks" });
		pi.sendMessage({ customType: "x", content: "y" }, "steer");
	});
}
