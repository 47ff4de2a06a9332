// What extensions import from pi-agent-core. An agent of its own is not available to an extension.

export class Agent {
	constructor() {
		throw new Error("Agent is not available in Osier; use pi.sendUserMessage or ctx.modelRegistry.complete");
	}
}
