// `SettingsManager`: an extension sees no settings of Osier. These are its own, for as long as it runs. Every getter and setter of pi
// exists: `getX` returns what `setX` was called with, the value `x`, or the value that pi has without settings.

const DEFAULTS = {
	allModelThinkingLevels: {}, autocompleteMaxVisible: 5, blockImages: false, branchSummarySettings: { reserveTokens: 16384, skipPrompt: false }, branchSummarySkipPrompt: false,
	clearOnShrink: false, codeBlockIndent: "  ", collapseChangelog: false, compactionEnabled: true, compactionKeepRecentTokens: 20000, compactionReserveTokens: 16384,
	compactionSettings: { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 }, defaultProjectTrust: "ask", doubleEscapeAction: "tree", editorPaddingX: 0,
	enableAnalytics: false, enableInstallTelemetry: false, enableSkillCommands: true, extensionPaths: [], followUpMode: "one-at-a-time", hideThinkingBlock: false,
	httpIdleTimeoutMs: 300000, imageAutoResize: true, imageWidthCells: 60, outputPad: 1, packages: [], promptTemplatePaths: [], quietStartup: false, retryEnabled: true,
	retrySettings: { enabled: true, maxRetries: 3, baseDelayMs: 2000, maxAgentDelayMs: 60000 }, showCacheMissNotices: false, showHardwareCursor: false, showImages: true,
	showTerminalProgress: false, skillPaths: [], steeringMode: "one-at-a-time", terminalCapabilityOverrides: {}, themePaths: [], transport: "auto", treeFilterMode: "default", warnings: {},
};

const known = {
	getSettings: (values) => ({ ...values }),
	getGlobalSettings: (values) => ({ ...values }),
	getProjectSettings: () => ({}),
	applyOverrides: (values, more) => void Object.assign(values, more),
	setDefaultModelAndProvider: (values, provider, model) => void Object.assign(values, { defaultProvider: provider, defaultModel: model }),
	isProjectTrusted: () => true,
	drainErrors: () => [],
	reload: async () => {},
	flush: async () => {},
};

/** `getTheme` and the like, by the name of the value. */
function accessor(values, name) {
	const [, verb, rest] = name.match(/^(get|set)([A-Z].*)$/) ?? [];
	if (!verb) return undefined;
	const key = rest[0].toLowerCase() + rest.slice(1);
	if (verb === "set") return (value) => void (values[key] = value);
	return () => structuredClone(values[key] ?? DEFAULTS[key]);
}

export class SettingsManager {
	constructor(values = {}) {
		const own = { ...values };
		return new Proxy(this, {
			get(target, name) {
				if (typeof name !== "string" || name in target) return target[name];
				return known[name] ? (...args) => known[name](own, ...args) : accessor(own, name);
			},
		});
	}
	static create = () => new SettingsManager();
	static inMemory = (values) => new SettingsManager(values);
}
