declare module "@earendil-works/pi-coding-agent" {
	import type { AgentMessage } from "@earendil-works/pi-agent-core";
	import type { AssistantMessage, Context, ImageContent, Model, SimpleStreamOptions, TextContent, Usage } from "@earendil-works/pi-ai";

	export interface SessionHeader {
		type: "session";
		id: string;
		version?: number;
		timestamp: string;
		cwd: string;
		parentSession?: string;
	}
	export interface SessionEntryBase {
		id: string;
		/** Null for the first entry. */
		parentId: string | null;
		timestamp: string;
	}
	export interface SessionMessageEntry extends SessionEntryBase {
		type: "message";
		message: AgentMessage;
	}
	/** Data of an extension. The model does not get it. */
	export interface CustomEntry<T = unknown> extends SessionEntryBase {
		type: "custom";
		customType: string;
		data?: T;
	}
	/** A message of an extension. The model gets it. */
	export interface CustomMessageEntry<T = unknown> extends SessionEntryBase {
		type: "custom_message";
		customType: string;
		content: string | (TextContent | ImageContent)[];
		display: boolean;
		details?: T;
	}
	export interface CompactionEntry<T = unknown> extends SessionEntryBase {
		type: "compaction";
		summary: string;
		firstKeptEntryId: string;
		tokensBefore: number;
		details?: T;
		/** The summary comes from an extension. */
		fromHook?: boolean;
	}
	export interface BranchSummaryEntry<T = unknown> extends SessionEntryBase {
		type: "branch_summary";
		/** The leaf that was left. */
		fromId: string;
		summary: string;
		details?: T;
		/** The summary comes from an extension. */
		fromHook?: boolean;
	}
	export interface LabelEntry extends SessionEntryBase {
		type: "label";
		targetId: string;
		label?: string;
	}
	export interface SessionInfoEntry extends SessionEntryBase {
		type: "session_info";
		name?: string;
	}
	export interface ModelChangeEntry extends SessionEntryBase {
		type: "model_change";
		provider: string;
		modelId: string;
	}
	export interface ThinkingLevelChangeEntry extends SessionEntryBase {
		type: "thinking_level_change";
		thinkingLevel: string;
	}
	export type SessionEntry =
		| SessionMessageEntry
		| CustomEntry
		| CustomMessageEntry
		| CompactionEntry
		| BranchSummaryEntry
		| LabelEntry
		| SessionInfoEntry
		| ModelChangeEntry
		| ThinkingLevelChangeEntry;
	export interface SessionTreeNode {
		entry: SessionEntry;
		children: SessionTreeNode[];
		label?: string;
	}

	/** The session of an extension. */
	export interface ReadonlySessionManager {
		getEntries(): SessionEntry[];
		getEntry(id: string): SessionEntry | undefined;
		/** The entries from the first one to an entry; without an id, to the leaf. */
		getBranch(fromId?: string): SessionEntry[];
		getLeafId(): string | null;
		getLeafEntry(): SessionEntry | undefined;
		getTree(): SessionTreeNode[];
		getLabel(id: string): string | undefined;
		getHeader(): SessionHeader | null;
		getSessionId(): string;
		/** Undefined if the session is not stored in a file. */
		getSessionFile(): string | undefined;
		getSessionDir(): string;
		getSessionName(): string | undefined;
		getCwd(): string;
		buildContextEntries(): SessionEntry[];
		buildSessionProjection(): { entries: ProjectedSessionEntry[]; messages: AgentMessage[]; thinkingLevel: string; model: { provider: string; modelId: string } | null };
		getEntryCount(): number;
		buildSessionContext(): { messages: AgentMessage[]; [other: string]: any };
		/** @deprecated The old name of `getLeafId`. */
		getLeafUuid(): string | null;
		/** @deprecated The old name of `getBranch`. */
		getPath(fromId?: string): SessionEntry[];
	}
	/** The session of an extension, with the methods that change it. Each one is an operation of Osier, with its hooks. */
	export interface SessionManager extends ReadonlySessionManager {
		appendMessage(message: AgentMessage): string;
		appendCustomEntry(customType: string, data?: unknown): string;
		appendCustomMessageEntry(customType: string, content: string | (TextContent | ImageContent)[], display: boolean, details?: unknown): string;
		appendCompaction(summary: string, firstKeptEntryId: string, tokensBefore: number, details?: unknown): string;
		appendLabelChange(targetId: string, label: string | undefined): string;
		appendSessionInfo(name: string): string;
		appendModelChange(provider: string, modelId: string): string;
		appendThinkingLevelChange(level: string): string;
		branch(id: string): void;
		branchWithSummary(id: string | null, summary: string, details?: unknown): string;
		resetLeaf(): void;
		createBranchedSession(leafId: string): string | undefined;
	}
	export const SessionManager: {
		[member: string]: any;
	};
	export class SettingsManager {
		static create(...options: any[]): SettingsManager;
		static inMemory(values?: any): SettingsManager;
		[member: string]: any;
	}

	export interface ModelRegistry {
		find(provider: string, id: string): Model<any> | undefined;
		findOfType(type: string, provider: string, id: string): any;
		getAll(): Model<any>[];
		getAvailable(): Model<any>[];
		hasConfiguredAuth(model: Model<any>): boolean;
		isUsingOAuth(model: Model<any>): boolean;
		/** The user decides once for each version of the extension. A placeholder without consent: calls through Osier need no key. */
		getApiKeyAndHeaders(model: Model<any>): Promise<{ ok: true; apiKey?: string; headers?: Record<string, string> } | { ok: false; error: string }>;
		getApiKeyForProvider(provider: string): Promise<string | undefined>;
		/** @deprecated The old name of `getApiKeyAndHeaders`. */
		getApiKey(model: Model<any>): Promise<string | undefined>;
		complete(model: Model<any>, context: Context, options?: SimpleStreamOptions): Promise<AssistantMessage>;
		completeSimple(model: Model<any>, context: Context, options?: SimpleStreamOptions): Promise<AssistantMessage>;
		streamSimple(model: Model<any>, context: any, options?: SimpleStreamOptions): any;
		classify(model: any, request: any, options?: any): Promise<any>;
		refresh(): Promise<void> | void;
		[other: string]: any;
	}
	export type { Usage };
}
