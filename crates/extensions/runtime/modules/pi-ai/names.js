// Names of pi-ai that few extensions use. The functions for one kind of provider call the model through Osier, as all others do.

import { getModel, getModels, getProviders, parseStreamingJson, stream, streamSimple } from "osier:modules/pi-ai.js";
import { validateToolArguments } from "osier:tools.js";
import { notConstructible, unavailable } from "osier:modules/pi-coding-agent/unavailable.js";

export const streamAnthropic = (...args) => stream(...args);
export const streamSimpleAnthropic = (...args) => streamSimple(...args);
export const streamAzureOpenAIResponses = (...args) => stream(...args);
export const streamSimpleAzureOpenAIResponses = (...args) => streamSimple(...args);
export const streamGoogle = (...args) => stream(...args);
export const streamSimpleGoogle = (...args) => streamSimple(...args);
export const streamGoogleVertex = (...args) => stream(...args);
export const streamSimpleGoogleVertex = (...args) => streamSimple(...args);
export const streamMistral = (...args) => stream(...args);
export const streamSimpleMistral = (...args) => streamSimple(...args);
export const streamOpenAICodexResponses = (...args) => stream(...args);
export const streamSimpleOpenAICodexResponses = (...args) => streamSimple(...args);
export const streamOpenAICompletions = (...args) => stream(...args);
export const streamSimpleOpenAICompletions = (...args) => streamSimple(...args);
export const streamOpenAIResponses = (...args) => stream(...args);
export const streamSimpleOpenAIResponses = (...args) => streamSimple(...args);

export const azureOpenAIResponsesApi = unavailable("azureOpenAIResponsesApi");
export const bedrockConverseStreamApi = unavailable("bedrockConverseStreamApi");
export const googleGenerativeAIApi = unavailable("googleGenerativeAIApi");
export const googleVertexApi = unavailable("googleVertexApi");
export const mistralConversationsApi = unavailable("mistralConversationsApi");
export const openAICodexResponsesApi = unavailable("openAICodexResponsesApi");
export const piMessagesApi = unavailable("piMessagesApi");

export const createFauxCore = unavailable("createFauxCore");
export const createModels = unavailable("createModels");
export const fauxAssistantMessage = unavailable("fauxAssistantMessage");
export const fauxProvider = unavailable("fauxProvider");
export const fauxText = unavailable("fauxText");
export const fauxThinking = unavailable("fauxThinking");
export const fauxToolCall = unavailable("fauxToolCall");
export const generateImages = unavailable("generateImages");
export const generateImagesOpenRouter = unavailable("generateImagesOpenRouter");
export const lazyApi = unavailable("lazyApi");
export const lazyOAuth = unavailable("lazyOAuth");
export const lazyStream = unavailable("lazyStream");
export const normalizeContext = unavailable("normalizeContext");
export const registerFauxProvider = unavailable("registerFauxProvider");
export const registerImagesApiProvider = unavailable("registerImagesApiProvider");
export const resolveTranscript = unavailable("resolveTranscript");
export const resolveTranscriptTools = unavailable("resolveTranscriptTools");
export const retryAssistantCall = unavailable("retryAssistantCall");
export const setBedrockProviderModule = unavailable("setBedrockProviderModule");
export const envApiKeyAuth = unavailable("envApiKeyAuth");
export const defaultProviderAuthContext = unavailable("defaultProviderAuthContext");
export const createInitialSystemMessage = unavailable("createInitialSystemMessage");
export const renderSystemMessageUpdate = unavailable("renderSystemMessageUpdate");

export const InMemoryCredentialStore = notConstructible("InMemoryCredentialStore");
export const InMemoryModelsStore = notConstructible("InMemoryModelsStore");
export const StreamingJsonParser = notConstructible("StreamingJsonParser");

export class ModelsError extends Error {}
export const PI_AI_VERSION = "1.5.0";
export const getApiProvider = () => undefined;
export const getApiProviders = () => [];
export const getImageModel = () => undefined;
export const getImageModels = () => [];
export const getImageProviders = () => [];
export const getImagesApiProvider = () => undefined;
export const findEnvKeys = () => undefined;
export const resetApiProviders = () => {};
export const registerBuiltInApiProviders = () => {};
export const registerBuiltInImagesApiProviders = () => {};
export const registerSessionResourceCleanup = () => () => {};
export const cleanupSessionResources = async () => {};
export const getIdentityHeaders = () => ({});
export const getAttributionHeaders = () => ({});
export const getModelType = () => "chat";
export const hasApi = (model, api) => model?.api === api;
export const contentText = (content) => (typeof content === "string" ? content : (content ?? []).flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n"));
export const getSystemMessageText = (message) => contentText(message?.content);
export const formatThrownValue = (value) => (value instanceof Error ? value.message : String(value));
export const isRetryableAssistantError = (message) => message?.stopReason === "error" && /overloaded|rate limit|timeout|timed out|50\d|429/i.test(message.errorMessage ?? "");

export const appendAssistantMessageDiagnostic = () => {};
export const clearApiProviders = () => {};
export const createAssistantMessageDiagnostic = unavailable("createAssistantMessageDiagnostic");
export const extractDiagnosticError = () => undefined;
export const getOverflowPatterns = () => [];
/** Puts a backslash before characters in strings that JSON does not allow there. */
export const repairJson = (text) => {
	let inString = false;
	return String(text).replace(/\\["\\/bfnrt]|\\u[0-9a-f]{4}|[^]/gi, (piece) => {
		if (piece === '"') inString = !inString;
		if (!inString || piece.length > 1) return piece;
		if (piece === "\\") return "\\\\";
		return piece < " " ? JSON.stringify(piece).slice(1, -1) : piece;
	});
};
export const parseJsonWithRepair = (text) => {
	try {
		return JSON.parse(text);
	} catch {
		return JSON.parse(repairJson(text));
	}
};
export const parseToolCallArguments = (text) => {
	try {
		return parseJsonWithRepair(text || "{}");
	} catch {
		return parseStreamingJson(text);
	}
};
export const validateToolCall = (tools, call) => validateToolArguments(tools.find(({ name }) => name === call.name) ?? { name: call.name }, call);

export const AI_TELEMETRY_SCHEMA = {};
export const PI_ATTRIBUTION = {};
export const ANTHROPIC_API_KEY_ENV = "ANTHROPIC_API_KEY";
export const ANTHROPIC_AUTH_TOKEN_ENV = "ANTHROPIC_AUTH_TOKEN";
export const ANTHROPIC_OAUTH_TOKEN_ENV = "ANTHROPIC_OAUTH_TOKEN";
export const ANTHROPIC_FEDERATION_RULE_ID_ENV = "ANTHROPIC_FEDERATION_RULE_ID";
export const ANTHROPIC_IDENTITY_TOKEN_FILE_ENV = "ANTHROPIC_IDENTITY_TOKEN_FILE";
export const ANTHROPIC_ORGANIZATION_ID_ENV = "ANTHROPIC_ORGANIZATION_ID";
export const ANTHROPIC_SERVICE_ACCOUNT_ID_ENV = "ANTHROPIC_SERVICE_ACCOUNT_ID";
export const ANTHROPIC_WORKSPACE_ID_ENV = "ANTHROPIC_WORKSPACE_ID";
export const DEFAULT_MAX_AGENT_RETRY_DELAY_MS = 60_000;
export const retryDelayMs = (attempt, baseDelayMs = 1000, maxDelayMs = DEFAULT_MAX_AGENT_RETRY_DELAY_MS) => Math.min(baseDelayMs * 2 ** Math.max(0, attempt - 1), maxDelayMs);
export const isModelType = (model, type) => type === "chat" && !!model;
export const isRecoverableLength = (message) => message?.stopReason === "length";
export const formatUserAgent = () => `osier/${PI_AI_VERSION}`;
export const getClientVersion = () => PI_AI_VERSION;
export const getOpenCodeSessionHeaders = () => ({});
export const mergeClientIdentity = (identity) => identity;
export const withClientIdentity = (options) => options;

const isSystem = ({ role }) => role === "system";
export const getInitialSystemMessage = (context) => (context?.messages ?? []).find(isSystem);
export const getCurrentSystemMessage = (context) => (context?.messages ?? []).findLast(isSystem);
export const withoutInitialSystemMessage = (messages) => (messages[0] && isSystem(messages[0]) ? messages.slice(1) : messages);
export const getDeclaredTools = (context) => context?.tools ?? [];
export const toToolDeclaration = ({ name, description, parameters }) => ({ name, description, parameters });
export const declarationsEqual = (a, b) => JSON.stringify(toToolDeclaration(a)) === JSON.stringify(toToolDeclaration(b));
export const getToolStateChanges = unavailable("getToolStateChanges");
export const hasNonAdditiveToolChanges = unavailable("hasNonAdditiveToolChanges");
export const hasToolRedefinitions = unavailable("hasToolRedefinitions");

// The models that pi knows are not all here: only those that Osier can use.
export const getBuiltinModel = (provider, id) => getModel(provider, id);
export const getBuiltinModels = (provider) => getModels(provider);
export const getAllBuiltinModels = () => getModels();
export const getBuiltinProviders = () => getProviders();
export const builtinModels = unavailable("builtinModels", "use ctx.modelRegistry");
export const builtinProviders = unavailable("builtinProviders", "use ctx.modelRegistry");
export const getBuiltinModelDataGeneratedAt = () => undefined;
export const getBuiltinClassifierModel = () => undefined;
export const getBuiltinClassifierModels = () => [];
export const getBuiltinImageModel = () => undefined;
export const getBuiltinImageModels = () => [];
export const radiusProvider = unavailable("radiusProvider");
