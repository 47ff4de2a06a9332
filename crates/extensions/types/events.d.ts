declare module "@earendil-works/pi-coding-agent" {
	import type { AgentMessage } from "@earendil-works/pi-agent-core";
	import type { AssistantMessage, ImageContent, Model, TextContent, ToolResultMessage, Usage } from "@earendil-works/pi-ai";

	type MaybePromise<T> = T | Promise<T>;
	export type ExtensionHandler<E, R = unknown> = (event: E, ctx: ExtensionContext) => MaybePromise<R | void | undefined>;
	/** @deprecated The old name of `ExtensionHandler`. */
	export type HookHandler<E, R = unknown> = ExtensionHandler<E, R>;

	export interface SessionStartEvent {
		type: "session_start";
		reason: "startup" | "reload" | "new" | "resume" | "fork";
		previousSessionFile?: string;
	}
	export interface SessionShutdownEvent {
		type: "session_shutdown";
		reason: "quit" | "reload" | "new" | "resume" | "fork";
		targetSessionFile?: string;
	}
	export interface SessionBeforeTreeEvent {
		type: "session_before_tree";
		preparation: TreePreparation;
		signal: AbortSignal;
	}
	export interface SessionTreeEvent {
		type: "session_tree";
		newLeafId: string | null;
		oldLeafId: string | null;
		summaryEntry?: BranchSummaryEntry;
		fromHook?: boolean;
		fromExtension?: boolean;
	}
	export interface CompactionPreparation {
		firstKeptEntryId: string;
		messagesToSummarize: AgentMessage[];
		turnPrefixMessages: AgentMessage[];
		isSplitTurn: boolean;
		tokensBefore: number;
		previousSummary?: string;
		/** The files that the calls of tools in these messages name. */
		fileOps: FileOperations;
		settings: CompactionSettings;
		[other: string]: any;
	}
	export interface SessionBeforeCompactEvent {
		type: "session_before_compact";
		preparation: CompactionPreparation;
		branchEntries: SessionEntry[];
		/** Newest first. */
		previousCompactions: CompactionEntry[];
		customInstructions?: string;
		reason: "manual" | "threshold" | "overflow";
		willRetry: boolean;
		model: string;
		signal: AbortSignal;
	}
	export interface SessionCompactEvent {
		type: "session_compact";
		compactionEntry: CompactionEntry;
		fromExtension: boolean;
		fromHook?: boolean;
		reason: "manual" | "threshold" | "overflow";
		willRetry: boolean;
	}
	export interface SessionBeforeForkEvent extends ForkPreparation {
		type: "session_before_fork";
		entryId: string;
	}
	export interface SessionBeforeSwitchEvent extends SwitchPreparation {
		type: "session_before_switch";
	}
	export interface SessionForkEvent {
		type: "session_fork";
		previousSessionFile: string;
		newSessionFile: string;
	}
	export interface SessionSwitchEvent {
		type: "session_switch";
		reason: SwitchReason;
		previousSessionFile?: string;
	}
	export interface SessionInfoChangedEvent {
		type: "session_info_changed";
		name?: string;
	}
	export interface CancelResult {
		cancel?: boolean;
	}
	export interface InputEvent {
		type: "input";
		text: string;
		images?: ImageContent[];
		source: "interactive" | "rpc" | "extension";
		streamingBehavior?: "steer" | "followUp";
	}
	export type InputEventResult = { action: "continue" } | { action: "transform"; text: string; images?: ImageContent[] } | { action: "handled" };
	export interface BuildSystemPromptOptions {
		cwd: string;
		sections: Record<string, string>;
		selectedTools?: string[];
		promptGuidelines?: string[];
		contextFiles?: { path: string; content: string }[];
		skills?: { name: string; description: string; [other: string]: any }[];
		[other: string]: any;
	}
	export interface BeforeAgentStartEvent {
		type: "before_agent_start";
		messageType: "user" | "custom";
		prompt: string;
		images?: ImageContent[];
		message?: AgentMessage;
		readonly systemPrompt: string;
		systemPromptOptions: BuildSystemPromptOptions;
	}
	export interface BeforeAgentStartEventResult {
		/** Stored after the prompt. */
		message?: HookMessage;
		/** Replaces the system prompt for this turn. */
		systemPrompt?: string;
	}
	export interface ContextEvent {
		type: "context";
		messages: AgentMessage[];
	}
	export interface ContextEventResult {
		messages?: AgentMessage[];
	}
	export interface ToolCallEvent {
		type: "tool_call";
		toolName: string;
		toolCallId: string;
		/** A handler may change it. */
		input: Record<string, any>;
		/** Never set: Osier has no calls inside of calls. */
		parentToolCallId?: string;
	}
	export interface ToolCallEventResult {
		block?: boolean;
		reason?: string;
		terminate?: boolean;
	}
	export interface ToolResultEvent {
		type: "tool_result";
		toolName: string;
		toolCallId: string;
		input: Record<string, any>;
		content: (TextContent | ImageContent)[];
		details: any;
		isError: boolean;
	}
	export interface ToolResultEventResult {
		content?: (TextContent | ImageContent)[];
		details?: unknown;
		isError?: boolean;
	}
	export type AgentActivityOutcome = "completed" | "aborted" | "error";
	/** An entry that a handler proposes. It has no id yet. */
	export type SessionBoundaryDraft = { type: "custom" | "custom_message" | "context_edit" | "compaction"; [field: string]: any };
	export interface ProjectedSessionEntry {
		sourceEntry: SessionEntry;
		/** What the model gets of it. */
		messages: AgentMessage[];
	}
	/** What the model would get if the proposed entries were stored. */
	export interface BoundaryContextPreview {
		contextEntries: ProjectedSessionEntry[];
		contextMessages: AgentMessage[];
		llmMessages: AgentMessage[];
		/** Empty: Osier does not show queued prompts here. */
		pendingMessages: AgentMessage[];
		canContinue: boolean;
	}
	export interface BoundaryState {
		/** What handlers proposed so far. */
		entries: SessionBoundaryDraft[];
		continue: boolean;
		readonly context: BoundaryContextPreview;
		outcome: AgentActivityOutcome;
	}
	export interface BoundaryResult {
		entries?: SessionBoundaryDraft[];
		/** Calls the model once more. */
		continue?: boolean;
	}
	export interface TurnEndEvent extends BoundaryState {
		type: "turn_end";
		turnIndex: number;
		message: AssistantMessage;
		toolResults: ToolResultMessage[];
		messageEntryId: string;
		toolResultEntryIds: string[];
	}
	export interface AgentBeforeSettleEvent extends BoundaryState {
		type: "agent_before_settle";
	}
	export interface SessionCompactFailedEvent {
		type: "session_compact_failed";
		reason: "manual" | "threshold" | "overflow";
		/** Missing if the compaction was canceled. */
		errorMessage?: string;
		error: string;
		aborted: boolean;
		willRetry: boolean;
		fromExtension: boolean;
		fromHook?: boolean;
	}
	/** Osier waits for the user, or no longer does. */
	export interface UIPromptEvent<T extends string> {
		type: T;
		reason: "ui_prompt";
		kind: "select" | "confirm" | "input" | "editor" | "custom";
		title?: string;
	}
	export type UIPromptStartEvent = UIPromptEvent<"ui_prompt_start">;
	export type UIPromptEndEvent = UIPromptEvent<"ui_prompt_end">;
	export interface ModelSelectEvent {
		type: "model_select";
		model: Model<any>;
		previousModel?: Model<any>;
		source: "set" | "cycle" | "restore";
	}
	export interface AfterProviderResponseEvent {
		type: "after_provider_response";
		/** Missing if the model is not reached over HTTP. */
		status?: number;
		headers: Record<string, string>;
		/** The full name of the model. */
		model: string;
		purpose: "reply" | "summary";
		usage: Usage;
		error?: string;
	}
	export interface UserBashEvent {
		type: "user_bash";
		command: string;
		excludeFromContext: boolean;
		cwd: string;
	}
	export interface UserBashEventResult {
		operations?: BashOperations;
		result?: { output: string; exitCode: number | undefined; cancelled: boolean; truncated: boolean; fullOutputPath?: string };
	}
	export interface ProjectTrustEvent {
		type: "project_trust";
		cwd: string;
	}
	export interface ProjectTrustEventResult {
		trusted: "yes" | "no" | "undecided";
		remember?: boolean;
	}
	type ToolExecution<Name extends string> = { type: Name; toolCallId: string; toolName: string; args: any };

	export interface ExtensionAPI {
		/** Calls a function at each event. Returns a function that ends it. */
		on(event: "session_start", handler: ExtensionHandler<SessionStartEvent>): () => void;
		on(event: "session_shutdown", handler: ExtensionHandler<SessionShutdownEvent>): () => void;
		on(event: "session_before_tree", handler: ExtensionHandler<SessionBeforeTreeEvent, SessionBeforeTreeResult>): () => void;
		on(event: "session_tree", handler: ExtensionHandler<SessionTreeEvent>): () => void;
		on(event: "session_before_compact", handler: ExtensionHandler<SessionBeforeCompactEvent, SessionBeforeCompactResult>): () => void;
		on(event: "session_compact", handler: ExtensionHandler<SessionCompactEvent>): () => void;
		on(event: "session_compact_failed", handler: ExtensionHandler<SessionCompactFailedEvent>): () => void;
		on(event: "session_before_fork", handler: ExtensionHandler<SessionBeforeForkEvent, CancelResult & { skipConversationRestore?: boolean }>): () => void;
		on(event: "session_fork", handler: ExtensionHandler<SessionForkEvent>): () => void;
		on(event: "session_before_switch", handler: ExtensionHandler<SessionBeforeSwitchEvent, CancelResult>): () => void;
		on(event: "session_switch", handler: ExtensionHandler<SessionSwitchEvent>): () => void;
		on(event: "session_info_changed", handler: ExtensionHandler<SessionInfoChangedEvent>): () => void;
		on(event: "input", handler: ExtensionHandler<InputEvent, InputEventResult>): () => void;
		on(event: "before_agent_start", handler: ExtensionHandler<BeforeAgentStartEvent, BeforeAgentStartEventResult>): () => void;
		on(event: "agent_start", handler: ExtensionHandler<{ type: "agent_start" }>): () => void;
		on(event: "agent_end", handler: ExtensionHandler<{ type: "agent_end"; messages: AgentMessage[]; outcome: string | null }>): () => void;
		on(event: "agent_settled", handler: ExtensionHandler<{ type: "agent_settled"; aborted: boolean }>): () => void;
		on(event: "turn_start", handler: ExtensionHandler<{ type: "turn_start"; turnIndex: number; timestamp: number }>): () => void;
		on(event: "turn_end", handler: ExtensionHandler<TurnEndEvent, BoundaryResult>): () => void;
		on(event: "agent_before_settle", handler: ExtensionHandler<AgentBeforeSettleEvent, BoundaryResult>): () => void;
		on(event: "context", handler: ExtensionHandler<ContextEvent, ContextEventResult>): () => void;
		/** The system prompt and the tools are messages of the role `system`. What the handler returns is sent. */
		on(event: "context_with_system", handler: ExtensionHandler<{ type: "context_with_system"; messages: any[] }, { messages?: any[] }>): () => void;
		/** `payload` is the body of the request in the form of the provider. What the handler returns replaces it. */
		on(event: "before_provider_request", handler: ExtensionHandler<{ type: "before_provider_request"; payload: any }, unknown>): () => void;
		on(event: "before_provider_headers", handler: ExtensionHandler<{ type: "before_provider_headers"; headers: Record<string, string | null> }>): () => void;
		on(event: "after_provider_response", handler: ExtensionHandler<AfterProviderResponseEvent>): () => void;
		on(event: "provider_stream_event", handler: ExtensionHandler<{ type: "provider_stream_event"; provider: string; api: string; model: string; data: any }>): () => void;
		on(event: "message_start", handler: ExtensionHandler<{ type: "message_start"; message: AgentMessage }>): () => void;
		on(event: "message_update", handler: ExtensionHandler<{ type: "message_update"; message: AgentMessage; assistantMessageEvent: any }>): () => void;
		on(event: "message_end", handler: ExtensionHandler<{ type: "message_end"; message: AgentMessage }, { message?: AgentMessage }>): () => void;
		on(event: "tool_call", handler: ExtensionHandler<ToolCallEvent, ToolCallEventResult>): () => void;
		on(event: "tool_result", handler: ExtensionHandler<ToolResultEvent, ToolResultEventResult>): () => void;
		on(event: "tool_execution_start", handler: ExtensionHandler<ToolExecution<"tool_execution_start">>): () => void;
		on(event: "tool_execution_update", handler: ExtensionHandler<ToolExecution<"tool_execution_update"> & { partialResult: any }>): () => void;
		on(event: "tool_execution_end", handler: ExtensionHandler<ToolExecution<"tool_execution_end"> & { result: any; isError: boolean; durationMs?: number }>): () => void;
		on(event: "model_select", handler: ExtensionHandler<ModelSelectEvent>): () => void;
		on(event: "thinking_level_select", handler: ExtensionHandler<{ type: "thinking_level_select"; level: ThinkingLevel; previousLevel: ThinkingLevel }>): () => void;
		on(event: "user_bash", handler: ExtensionHandler<UserBashEvent, UserBashEventResult>): () => void;
		on(event: "resources_discover", handler: ExtensionHandler<{ type: "resources_discover"; cwd: string; reason: "startup" | "reload" }, { skillPaths?: string[]; promptPaths?: string[]; themePaths?: string[] }>): () => void;
		on(event: "ui_prompt_start", handler: ExtensionHandler<UIPromptStartEvent>): () => void;
		on(event: "ui_prompt_end", handler: ExtensionHandler<UIPromptEndEvent>): () => void;
		on(event: "project_trust", handler: ExtensionHandler<ProjectTrustEvent, ProjectTrustEventResult>): () => void;
		/** @deprecated The old name of `session_before_compact`. */
		on(event: "before_compact", handler: ExtensionHandler<SessionBeforeCompactEvent, SessionBeforeCompactResult>): () => void;
		/** @deprecated The old name of `session_before_switch`. */
		on(event: "before_switch", handler: ExtensionHandler<SessionBeforeSwitchEvent, CancelResult>): () => void;
		/** @deprecated The old name of `session_switch`. */
		on(event: "switch", handler: ExtensionHandler<SessionSwitchEvent>): () => void;
	}
	export type { Usage };
}
