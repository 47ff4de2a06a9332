// The names of pi's SDK that Osier does not have. Importing them is no error, because many extensions need them only in some cases;
// using them is.

import { notConstructible, unavailable } from "osier:modules/pi-coding-agent/unavailable.js";

export const createAgentSession = unavailable("createAgentSession", "start `osier -p` as a program");
export const createAgentSessionFromServices = unavailable("createAgentSessionFromServices");
export const createAgentSessionRuntime = unavailable("createAgentSessionRuntime");
export const createAgentSessionServices = unavailable("createAgentSessionServices");
export const createExtensionRuntime = unavailable("createExtensionRuntime");
export const createCodemodeExtension = unavailable("createCodemodeExtension");
export const createMcpExtension = unavailable("createMcpExtension");
export const createToolSearchExtension = unavailable("createToolSearchExtension");
export const createPowerShellTool = unavailable("createPowerShellTool");
export const createPowerShellToolDefinition = unavailable("createPowerShellToolDefinition");
export const createLocalPowerShellOperations = unavailable("createLocalPowerShellOperations");
export const discoverAndLoadExtensions = unavailable("discoverAndLoadExtensions");
export const wrapRegisteredTool = unavailable("wrapRegisteredTool");
export const wrapRegisteredTools = unavailable("wrapRegisteredTools");
export const resolveCliModel = unavailable("resolveCliModel", "use ctx.modelRegistry.find");
export const resolveModelScopeWithDiagnostics = unavailable("resolveModelScopeWithDiagnostics");
export const compact = unavailable("compact", "use ctx.compact");
export const generateSummary = unavailable("generateSummary", "use ctx.modelRegistry.complete");
export const generateSummaryWithUsage = unavailable("generateSummaryWithUsage", "use ctx.modelRegistry.complete");
export const generateBranchSummary = unavailable("generateBranchSummary", "use ctx.modelRegistry.complete");
export const prepareBranchEntries = unavailable("prepareBranchEntries");
export const collectEntriesForBranchSummary = unavailable("collectEntriesForBranchSummary");
export const findCutPoint = unavailable("findCutPoint");
export const findTurnStartIndex = unavailable("findTurnStartIndex");
export const buildSessionProjection = unavailable("buildSessionProjection");
export const migrateSessionEntries = unavailable("migrateSessionEntries");
export const resizeImage = unavailable("resizeImage");
export const convertToPng = unavailable("convertToPng");
export const formatDimensionNote = () => undefined;
export const detectSupportedImageMimeTypeFromFile = unavailable("detectSupportedImageMimeTypeFromFile");
export const generateDiffString = unavailable("generateDiffString");
export const generateUnifiedPatch = unavailable("generateUnifiedPatch");
export const getPowerShellConfig = unavailable("getPowerShellConfig");
export const main = unavailable("main");
export const parseArgs = unavailable("parseArgs");
export const runPrintMode = unavailable("runPrintMode");
export const runRpcMode = unavailable("runRpcMode");

export const AgentSession = notConstructible("AgentSession");
export const AgentSessionRuntime = notConstructible("AgentSessionRuntime");
export const AuthStorage = notConstructible("AuthStorage", "Osier keeps the keys");
export const DefaultPackageManager = notConstructible("DefaultPackageManager");
export const DefaultResourceLoader = notConstructible("DefaultResourceLoader");
export const ExtensionRunner = notConstructible("ExtensionRunner");
export const InteractiveMode = notConstructible("InteractiveMode");
export const ModelRegistry = notConstructible("ModelRegistry", "use ctx.modelRegistry");
export const ModelRuntime = notConstructible("ModelRuntime");
export const ProjectTrustStore = notConstructible("ProjectTrustStore");
export const RpcClient = notConstructible("RpcClient", "start `osier --mode rpc` as a program");
export const ArminComponent = notConstructible("ArminComponent");
export const Theme = notConstructible("Theme", "use ctx.ui.theme");
export const AssistantMessageComponent = notConstructible("AssistantMessageComponent");
export const BashExecutionComponent = notConstructible("BashExecutionComponent");
export const BranchSummaryMessageComponent = notConstructible("BranchSummaryMessageComponent");
export const CompactionSummaryMessageComponent = notConstructible("CompactionSummaryMessageComponent");
export const CustomMessageComponent = notConstructible("CustomMessageComponent");
export const ExtensionEditorComponent = notConstructible("ExtensionEditorComponent", "use ctx.ui.editor");
export const ExtensionInputComponent = notConstructible("ExtensionInputComponent", "use ctx.ui.input");
export const ExtensionSelectorComponent = notConstructible("ExtensionSelectorComponent", "use ctx.ui.select");
export const FooterComponent = notConstructible("FooterComponent");
export const LoginDialogComponent = notConstructible("LoginDialogComponent");
export const ModelSelectorComponent = notConstructible("ModelSelectorComponent");
export const OAuthSelectorComponent = notConstructible("OAuthSelectorComponent");
export const SessionSelectorComponent = notConstructible("SessionSelectorComponent");
export const SettingsSelectorComponent = notConstructible("SettingsSelectorComponent");
export const ShowImagesSelectorComponent = notConstructible("ShowImagesSelectorComponent");
export const SkillInvocationMessageComponent = notConstructible("SkillInvocationMessageComponent");
export const ThemeSelectorComponent = notConstructible("ThemeSelectorComponent");
export const ThinkingSelectorComponent = notConstructible("ThinkingSelectorComponent");
export const ToolExecutionComponent = notConstructible("ToolExecutionComponent");
export const TreeSelectorComponent = notConstructible("TreeSelectorComponent");
export const UserMessageComponent = notConstructible("UserMessageComponent");
export const UserMessageSelectorComponent = notConstructible("UserMessageSelectorComponent");
export const CredentialSynchronizationError = class extends Error {};
/** The parts of a prompt that names a skill; null if it does not. */
export function parseSkillBlock(text) {
	const [, name, location, content, rest] = text.match(/^<skill name="([^"]+)" location="([^"]+)">\n([^]*?)\n<\/skill>(?:\n\n([^]+))?$/) ?? [];
	return name === undefined ? null : { name, location, content, userMessage: rest?.trim() || undefined };
}
/** Osier gives no key to extensions. */
export const readStoredCredential = () => undefined;
export const hasTrustRequiringProjectResources = () => false;
export const loadProjectContextFiles = () => [];
export const loadSkillsFromDir = () => ({ skills: [], diagnostics: [] });

export const CURRENT_SESSION_VERSION = 3;
export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };
export const VIRTUAL_MODEL_STATE_ENTRY = "virtual-model-state";
export const shouldCompact = (tokens, window, settings = DEFAULT_COMPACTION_SETTINGS) => settings.enabled && tokens > window - settings.reserveTokens;
export const parseSessionEntries = (text) => text.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
/** The entries of the path to a leaf: the current one, or a given one. */
export function buildContextEntries(entries, leafId = entries.at(-1)?.id) {
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const path = [];
	for (let entry = byId.get(leafId); entry; entry = byId.get(entry.parentId)) path.unshift(entry);
	return path;
}
export const getLastAssistantUsage = (entries) => entries.findLast((entry) => entry.message?.role === "assistant")?.message.usage;
export const createSyntheticSourceInfo = (path, { source = "auto", scope = "user", origin = "top-level" } = {}) => ({ path, source, scope, origin });
