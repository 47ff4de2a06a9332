// What extensions import from pi-agent-core. An agent of its own is not available to an extension.

import { notConstructible, unavailable } from "osier:modules/pi-coding-agent/unavailable.js";

export {
	bashExecutionToText, buildSessionContext, calculateContextTokens, collectEntriesForBranchSummary, compact, convertToLlm,
	DEFAULT_COMPACTION_SETTINGS, DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, estimateContextTokens, estimateTokens, findCutPoint, findTurnStartIndex, formatSize,
	generateBranchSummary, generateSummary, getLastAssistantUsage, GREP_MAX_LINE_LENGTH, loadSkills, prepareBranchEntries, prepareCompaction,
	serializeConversation, shouldCompact, truncateHead, truncateLine, truncateTail,
} from "osier:modules/pi-coding-agent.js";
export { uuidv7, uuidv7 as createSessionId } from "osier:modules/pi-ai.js";

export const Agent = notConstructible("Agent", "use pi.sendUserMessage or ctx.modelRegistry.complete");
export const AgentHarness = notConstructible("AgentHarness");
export const InMemorySessionRepo = notConstructible("InMemorySessionRepo");
export const JsonlSessionRepo = notConstructible("JsonlSessionRepo");
export const Session = notConstructible("Session");
export class AgentHarnessError extends Error {}
export class BranchSummaryError extends Error {}
export class CompactionError extends Error {}
export class ExecutionError extends Error {}
export class FileError extends Error {}
export class SessionError extends Error {}
export const agentLoop = unavailable("agentLoop");
export const agentLoopContinue = unavailable("agentLoopContinue");
export const createBranchSummaryMessage = unavailable("createBranchSummaryMessage");
export const createCompactionSummaryMessage = unavailable("createCompactionSummaryMessage");
export const createCustomMessage = unavailable("createCustomMessage");
export const executeShellWithCapture = unavailable("executeShellWithCapture");
export const formatPromptTemplateInvocation = unavailable("formatPromptTemplateInvocation");
export const formatSkillInvocation = unavailable("formatSkillInvocation");
export { formatSkillsForPrompt as formatSkillsForSystemPrompt } from "osier:modules/pi-coding-agent/skills.js";
export const getEntriesToFork = unavailable("getEntriesToFork");
export const getFileSystemResultOrThrow = unavailable("getFileSystemResultOrThrow");
export const getOrThrow = unavailable("getOrThrow");
export const getOrUndefined = unavailable("getOrUndefined");
export const loadPromptTemplates = unavailable("loadPromptTemplates");
export const loadSourcedPromptTemplates = unavailable("loadSourcedPromptTemplates");
export const loadSourcedSkills = unavailable("loadSourcedSkills");
export const parseCommandArgs = unavailable("parseCommandArgs");
export const runAgentLoop = unavailable("runAgentLoop");
export const runAgentLoopContinue = unavailable("runAgentLoopContinue");
export const sanitizeBinaryOutput = unavailable("sanitizeBinaryOutput");
export const streamProxy = unavailable("streamProxy");
export const substituteArgs = unavailable("substituteArgs");
export const toSession = unavailable("toSession");

export const createTimestamp = () => new Date().toISOString();
export const ok = (value) => ({ ok: true, value });
export const err = (error) => ({ ok: false, error });
export const toError = (value) => (value instanceof Error ? value : new Error(String(value)));
export const BRANCH_SUMMARY_PREFIX = "";
export const BRANCH_SUMMARY_SUFFIX = "";
export const COMPACTION_SUMMARY_PREFIX = "";
export const COMPACTION_SUMMARY_SUFFIX = "";
export const runToolCall = unavailable("runToolCall");
export const setDefaultStreamFn = () => {};
export const DEFAULT_AGENT_IDENTITY = {};
