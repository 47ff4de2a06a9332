// The names of pi's SDK that Osier does not have. Importing them is no error, because many extensions need them only in some cases;
// using them is.

import { DEFAULT_COMPACTION_SETTINGS } from "osier:modules/pi-coding-agent/summaries.js";
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
export const resolveModelScopeWithDiagnostics = unavailable("resolveModelScopeWithDiagnostics");
export const migrateSessionEntries = unavailable("migrateSessionEntries");
export const resizeImage = unavailable("resizeImage");
export const convertToPng = unavailable("convertToPng");
export const formatDimensionNote = () => undefined;
export const detectSupportedImageMimeTypeFromFile = unavailable("detectSupportedImageMimeTypeFromFile");
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

export const CURRENT_SESSION_VERSION = 3;
export const VIRTUAL_MODEL_STATE_ENTRY = "virtual-model-state";
export const shouldCompact = (tokens, window, settings = DEFAULT_COMPACTION_SETTINGS) => settings.enabled && tokens > window - settings.reserveTokens;
export const parseSessionEntries = (text) => text.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
export const getLastAssistantUsage = (entries) => entries.findLast((entry) => entry.message?.role === "assistant")?.message.usage;
export const createSyntheticSourceInfo = (path, { source = "auto", scope = "user", origin = "top-level" } = {}) => ({ path, source, scope, origin });
