// Names of pi-ai that few extensions use. The functions for one kind of provider call the model through Osier, as all others do.

import { stream, streamSimple } from "osier:modules/pi-ai.js";
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
export const parseJsonWithRepair = (text) => JSON.parse(text);
export const repairJson = (text) => text;
export const validateToolCall = (tools, call) => validateToolArguments(tools.find(({ name }) => name === call.name) ?? { name: call.name }, call);
