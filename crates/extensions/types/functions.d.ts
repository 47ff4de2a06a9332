declare module "@earendil-works/pi-coding-agent" {
	import type { AgentMessage } from "@earendil-works/pi-agent-core";
	import type { Message } from "@earendil-works/pi-ai";
	import type { TSchema, TValue } from "typebox";

	export const VERSION: string;
	export const CONFIG_DIR_NAME: string;
	export const DEFAULT_MAX_LINES: number;
	export const DEFAULT_MAX_BYTES: number;
	/** The folder for the files of extensions. */
	export function getAgentDir(): string;
	export function defineTool<S extends TSchema>(tool: ToolDefinition<S>): ToolDefinition<S>;
	export function isToolCallEventType(name: string, event: ToolCallEvent): boolean;
	export function convertToLlm(messages: AgentMessage[]): Message[];
	export function serializeConversation(messages: Message[]): string;
	export function buildSessionContext(entries: SessionEntry[], leafId?: string | null): { messages: AgentMessage[]; [other: string]: any };
	export function buildContextEntries(entries: SessionEntry[], leafId?: string | null): SessionEntry[];
	/** About four characters are a token. */
	export function estimateTokens(message: AgentMessage): number;
	export function estimateContextTokens(messages: AgentMessage[]): { tokens: number; usageTokens: number; trailingTokens: number; lastUsageIndex: number | null };
	export interface CompactionSettings {
		enabled: boolean;
		reserveTokens: number;
		keepRecentTokens: number;
	}
	export const DEFAULT_COMPACTION_SETTINGS: CompactionSettings;
	/** The files that the calls of tools name. */
	export interface FileOperations {
		read: Set<string>;
		written: Set<string>;
		edited: Set<string>;
	}
	export function findCutPoint(entries: SessionEntry[], startIndex: number, endIndex: number, keepRecentTokens: number): { firstKeptEntryIndex: number; turnStartIndex: number; isSplitTurn: boolean };
	export function findTurnStartIndex(entries: SessionEntry[], entryIndex: number, startIndex: number): number;
	export function prepareCompaction(pathEntries: SessionEntry[], settings: CompactionSettings): CompactionPreparation | undefined;
	export function prepareBranchEntries(entries: SessionEntry[], tokenBudget?: number): { messages: AgentMessage[]; fileOps: FileOperations; totalTokens: number };
	export function collectEntriesForBranchSummary(session: any, oldLeafId: string | null, targetId: string): { entries: SessionEntry[]; commonAncestorId: string | null };
	/** Calls the model through Osier; a key that is passed is not used. */
	export function compact(preparation: any, model: any, apiKey?: string, headers?: Record<string, string>, customInstructions?: string, signal?: AbortSignal, thinkingLevel?: ThinkingLevel): Promise<{ summary: string; firstKeptEntryId: string; tokensBefore: number; [other: string]: any }>;
	export function generateSummary(messages: AgentMessage[], model: any, reserveTokens?: number, apiKey?: string, headers?: Record<string, string>, signal?: AbortSignal, customInstructions?: string, previousSummary?: string, thinkingLevel?: ThinkingLevel): Promise<string>;
	export function generateBranchSummary(entries: SessionEntry[], options: { model: any; signal?: AbortSignal; customInstructions?: string; replaceInstructions?: boolean; [other: string]: any }): Promise<{ summary?: string; aborted?: boolean; error?: string; [other: string]: any }>;
	export function generateDiffString(oldContent: string, newContent: string, contextLines?: number): { diff: string; firstChangedLine: number | undefined };
	export function generateUnifiedPatch(path: string, oldContent: string, newContent: string, contextLines?: number): string;
	export function resolveCliModel(options: { cliProvider?: string; cliModel?: string; [other: string]: any }): { model: any; thinkingLevel?: string; warning: string | undefined; error: string | undefined };
	export interface Skill {
		name: string;
		description: string;
		filePath: string;
		baseDir: string;
		sourceInfo: SourceInfo;
		disableModelInvocation: boolean;
	}
	export interface LoadSkillsResult {
		skills: Skill[];
		diagnostics: { type: string; message: string; path?: string; [other: string]: any }[];
	}
	export function loadSkills(options?: { cwd?: string; agentDir?: string; skillPaths?: string[]; includeDefaults?: boolean }): LoadSkillsResult;
	export function loadSkillsFromDir(options: { dir: string; source?: string }): LoadSkillsResult;
	export function formatSkillsForPrompt(skills: Skill[], tool?: "read" | "bash" | "indirect"): string;
	export function loadProjectContextFiles(options?: { cwd?: string; agentDir?: string }): { path: string; content: string }[];
	export interface TruncationResult {
		content: string;
		truncated: boolean;
		truncatedBy: "lines" | "bytes" | null;
		totalLines: number;
		totalBytes: number;
		outputLines: number;
		outputBytes: number;
		[other: string]: any;
	}
	export interface TruncationOptions {
		maxLines?: number;
		maxBytes?: number;
	}
	export function truncateHead(text: string, options?: TruncationOptions): TruncationResult;
	export function truncateTail(text: string, options?: TruncationOptions): TruncationResult;
	export function truncateLine(text: string, max?: number): { text: string; wasTruncated: boolean };
	export function formatSize(bytes: number): string;
	export function formatReadLineRange(args: any, theme?: any): string;
	export function parseFrontmatter<T = Record<string, any>>(text: string): { frontmatter: T; body: string };
	export function stripFrontmatter(text: string): string;
	export function withFileMutationQueue<T>(path: string, run: () => Promise<T>): Promise<T>;
	export function copyToClipboard(text: string): Promise<void>;
	export function createEventBus(): EventBus;

	export interface BashOperations {
		exec(command: string, cwd: string, options: { onData(data: Buffer): void; signal?: AbortSignal; timeout?: number; env?: NodeJS.ProcessEnv }): Promise<{ exitCode: number | null }>;
	}
	export interface ReadOperations {
		readFile(path: string): Promise<Buffer>;
		access(path: string): Promise<void>;
		detectImageMimeType?(path: string): Promise<string | null | undefined>;
	}
	export interface WriteOperations {
		writeFile(path: string, content: string): Promise<void>;
		mkdir(path: string): Promise<void>;
	}
	export interface EditOperations {
		readFile(path: string): Promise<Buffer>;
		writeFile(path: string, content: string): Promise<void>;
		access(path: string): Promise<void>;
	}
	export interface FindOperations {
		exists(path: string): Promise<boolean>;
		glob(pattern: string, cwd: string, options: { ignore: string[]; limit: number }): Promise<string[]>;
	}
	export interface LsOperations {
		exists(path: string): Promise<boolean>;
		stat(path: string): Promise<{ isDirectory(): boolean }>;
		readdir(path: string): Promise<string[]>;
	}
	export interface BashToolDetails {
		truncation?: TruncationResult;
		fullOutputPath?: string;
	}
	export interface ReadToolDetails {
		truncation?: TruncationResult;
	}
	export interface GrepToolDetails {
		truncation?: TruncationResult;
		[other: string]: any;
	}
	export interface EditToolDetails {
		diff: string;
		[other: string]: any;
	}
	export interface GrepToolInput {
		pattern: string;
		path?: string;
		glob?: string;
		ignoreCase?: boolean;
		literal?: boolean;
		context?: number;
		limit?: number;
	}
	type BuiltIn<P, D = any> = ToolDefinition<TValue<P>, D> & {
		execute(toolCallId: string, params: P, signal?: AbortSignal, onUpdate?: (partial: any) => void, ctx?: ExtensionContext): Promise<import("@earendil-works/pi-agent-core").AgentToolResult<D>>;
	};
	type Create<P, O, D = any> = (cwd: string, options?: { operations?: O; [other: string]: any }) => BuiltIn<P, D>;
	export const createReadTool: Create<{ path: string; offset?: number; limit?: number }, ReadOperations, ReadToolDetails | undefined>;
	export const createWriteTool: Create<{ path: string; content: string }, WriteOperations>;
	export const createEditTool: Create<{ path: string; edits: { oldText: string; newText: string }[] }, EditOperations, EditToolDetails | undefined>;
	export function createBashTool(
		cwd: string,
		options?: { operations?: BashOperations; spawnHook?(context: { command: string; cwd: string; env: NodeJS.ProcessEnv }): { command: string; cwd: string; env: NodeJS.ProcessEnv }; commandPrefix?: string; [other: string]: any },
	): BuiltIn<{ command: string; timeout?: number }, BashToolDetails | undefined>;
	export const createGrepTool: Create<GrepToolInput, any, GrepToolDetails | undefined>;
	export const createFindTool: Create<{ pattern: string; path?: string; limit?: number }, FindOperations>;
	export const createLsTool: Create<{ path?: string; limit?: number }, LsOperations>;
	export const createReadToolDefinition: typeof createReadTool;
	export const createWriteToolDefinition: typeof createWriteTool;
	export const createEditToolDefinition: typeof createEditTool;
	export const createBashToolDefinition: typeof createBashTool;
	export const createGrepToolDefinition: typeof createGrepTool;
	export const createFindToolDefinition: typeof createFindTool;
	export const createLsToolDefinition: typeof createLsTool;
	export function createLocalBashOperations(): BashOperations;
}
