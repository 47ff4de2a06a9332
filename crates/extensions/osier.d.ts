// The API of Osier's extensions for TypeScript. Generated: `UPDATE_EXPECT=1 cargo test -p osier-extensions types` writes this file.
// Print it with `osier extensions types`.

declare module "@earendil-works/pi-coding-agent" {
	/** The thinking levels. A model may support only some of them */
	export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
	/** The importance of a notification. */
	export type NotifyType = "info" | "warning" | "error";
	/** Where a widget is. */
	export type WidgetPlacement = "aboveEditor" | "belowEditor";
	/** Why a client switches to another session. */
	export type SwitchReason = "new" | "resume";
	/** Where a fork ends. */
	export type ForkPosition = "before" | "at";
	/** A move that is about to happen. */
	export interface TreePreparation {
		/** The chosen entry; `null` means before the first entry. */
		targetId: string | null;
		oldLeafId: string | null;
		commonAncestorId: string | null;
		entriesToSummarize: SessionEntry[];
		userWantsSummary: boolean;
		customInstructions?: string;
		replaceInstructions: boolean;
		label?: string;
	}
	/** The answer about a move. `null` fields keep the requested value. */
	export interface SessionBeforeTreeResult {
		cancel?: boolean;
		/** Used only if the user asked for a summary. */
		summary?: { summary: string; details?: unknown };
		customInstructions?: string;
		replaceInstructions?: boolean;
		label?: string;
	}
	/** A compaction that an extension provides. */
	export interface CompactionResult<T = unknown> {
		summary: string;
		firstKeptEntryId: string;
		tokensBefore: number;
		details?: T;
	}
	/** The answer about a compaction. */
	export interface SessionBeforeCompactResult {
		cancel?: boolean;
		compaction?: CompactionResult;
	}
	/** A fork that is about to happen. */
	export interface ForkPreparation {
		/** The chosen entry; `null` if the path is empty. */
		entryId: string | null;
		position: ForkPosition;
	}
	/** A switch to another session that is about to happen. */
	export interface SwitchPreparation {
		reason: SwitchReason;
		/** The file of the other session, or its id if it is not in a file; `null` for a new session. */
		targetSessionFile?: string;
	}
}
declare module "@earendil-works/pi-coding-agent" {
	import type { AgentToolResult } from "@earendil-works/pi-agent-core";
	import type { AssistantMessageEventStream, ImageContent, Model, OAuthCredentials, OAuthLoginCallbacks, SimpleStreamOptions, TextContent, TranscriptContext } from "@earendil-works/pi-ai";
	import type { AutocompleteItem, Component, KeyId } from "@earendil-works/pi-tui";
	import type { Static, TSchema } from "typebox";
	export type { AgentToolResult };

	export interface ExecOptions {
		cwd?: string;
		/** Milliseconds. */
		timeout?: number;
		signal?: AbortSignal;
		maxBuffer?: number;
	}
	export interface ExecResult {
		stdout: string;
		stderr: string;
		code: number;
		killed: boolean;
		truncated?: boolean;
	}
	export interface RegisteredCommand {
		description?: string;
		getArgumentCompletions?(prefix: string): AutocompleteItem[] | null | Promise<AutocompleteItem[] | null>;
		/** A handler with one parameter gets the context if it uses a member of it, else the arguments. A returned text is the prompt. */
		handler(args: string, ctx: ExtensionCommandContext): unknown;
	}
	export interface SourceInfo {
		path: string;
		source: string;
		scope: string;
		origin: string;
	}
	export interface SlashCommandInfo {
		name: string;
		description?: string;
		source: "extension" | "prompt" | "skill";
		sourceInfo: SourceInfo;
	}
	export interface ToolInfo {
		name: string;
		description: string;
		parameters: TSchema;
		promptGuidelines?: string[];
		exposure: ToolExposure;
		namespace?: any;
		annotations?: any;
		sourceInfo: SourceInfo;
	}
	export type ToolExposure = "direct" | "model-only" | "codemode" | "deferred" | "hidden";
	export type ToolRenderers = Pick<ToolDefinition<any, any>, "renderShell" | "renderCall" | "renderResult">;
	/** Chooses how calls of a tool are drawn. `next` is what draws them otherwise. */
	export type ToolRendererResolver = (toolName: string, next: () => ToolRenderers | undefined) => ToolRenderers | undefined;
	export type ToolExecutionMode = "parallel" | "sequential";
	export interface ToolRenderContext<S = any, A = any> {
		args: A;
		state: S;
		lastComponent: Component | undefined;
		toolCallId: string;
		cwd: string;
		expanded: boolean;
		isPartial: boolean;
		isError: boolean;
		executionStarted: boolean;
		argsComplete: boolean;
		showImages: boolean;
		durationMs?: number;
		outputPad: number;
		invalidate(): void;
		keyText(action: string): string;
		keyHint(action: string, text: string): string;
	}
	export interface ToolDefinition<S extends TSchema = TSchema, D = any> {
		name: string;
		label: string;
		description: string;
		parameters: S;
		promptSnippet?: string;
		promptGuidelines?: string[];
		/** Calls of extensions run in parallel, unless a tool is `sequential`. */
		executionMode?: ToolExecutionMode;
		/** The model gets only tools that are `direct` or `model-only`, unless `setActiveTools` names them. */
		exposure?: ToolExposure;
		/** `false`: the model gets the tool when `setActiveTools` names it. */
		defaultActive?: boolean;
		renderShell?: "default" | "self";
		prepareArguments?(args: unknown): any;
		execute(toolCallId: string, params: Static<S>, signal: AbortSignal | undefined, onUpdate: ((partial: AgentToolResult<any>) => void) | undefined, ctx: ExtensionContext): Promise<AgentToolResult<D>>;
		renderCall?(args: Static<S>, theme: Theme, context: ToolRenderContext): Component;
		renderResult?(result: AgentToolResult<D>, options: { expanded: boolean; isPartial: boolean }, theme: Theme, context: ToolRenderContext): Component;
		[other: string]: any;
	}
	export type MessageRenderer<T = any> = (message: CustomMessageEntry<T>, options: { expanded: boolean; outputPad?: number; [other: string]: any }, theme: Theme) => Component | undefined;
	/** @deprecated The old name of `MessageRenderer`. */
	export type CustomMessageRenderer<T = any> = MessageRenderer<T>;
	export type HookMessage<T = unknown> = Pick<CustomMessageEntry<T>, "customType" | "content" | "display"> & { details?: T };
	export interface SendMessageOptions {
		triggerTurn?: boolean;
		deliverAs?: "steer" | "followUp" | "nextTurn";
	}
	export interface EventBus {
		on(name: string, handler: (data: unknown) => void): () => void;
		emit(name: string, data?: unknown): void;
	}
	export interface ModelRouteRequest<S = unknown> {
		messages: readonly any[];
		thinkingLevel: string;
		reason: string;
		state?: S;
		previous?: { model: Model<any> };
		signal?: AbortSignal;
		[other: string]: any;
	}
	export interface ModelRoute<S = unknown> {
		model: Model<any>;
		thinkingLevel?: string;
		state?: S;
	}

	export interface ProviderConfig {
		name?: string;
		baseUrl?: string;
		/** The key itself, `$VARIABLE`, or `!command`. */
		apiKey?: string;
		api?: string;
		headers?: Record<string, string>;
		authHeader?: boolean;
		models?: any[];
		oauth?: {
			name: string;
			login(callbacks: OAuthLoginCallbacks): Promise<OAuthCredentials>;
			refreshToken(credentials: OAuthCredentials, signal: AbortSignal): Promise<OAuthCredentials>;
			getApiKey(credentials: OAuthCredentials): string;
			[other: string]: any;
		};
		streamSimple?(model: Model<any>, context: TranscriptContext, options?: SimpleStreamOptions): AssistantMessageEventStream;
		[other: string]: any;
	}

	/** The argument of an extension's function. */
	export interface ExtensionAPI {
		registerCommand(name: string, options: RegisteredCommand): void;
		registerTool<S extends TSchema>(tool: ToolDefinition<S>): void;
		registerShortcut(key: KeyId, options: { description?: string; handler(ctx: ExtensionContext): unknown }): void;
		registerFlag(name: string, options: { type: "boolean" | "string"; default?: boolean | string; description?: string }): void;
		getFlag(name: string): boolean | string | undefined;
		registerMessageRenderer<T = any>(customType: string, renderer: MessageRenderer<T>): void;
		/** @deprecated The old name of `registerMessageRenderer`. */
		registerCustomMessageRenderer<T = any>(customType: string, renderer: MessageRenderer<T>): void;
		registerToolRenderer(resolver: ToolRendererResolver): void;
		registerEntryRenderer<T = any>(customType: string, renderer: (entry: CustomEntry<T>, options: { expanded: boolean; [other: string]: any }, theme: Theme) => Component | undefined): void;
		registerProvider(name: string, config: ProviderConfig): void;
		registerProvider(provider: { id: string; [other: string]: any }): void;
		unregisterProvider(name: string): void;
		registerVirtualModel<S = unknown>(model: { provider: string; id: string; route(request: ModelRouteRequest<S>, ctx: ExtensionContext): Promise<ModelRoute<S>>; [other: string]: any }): void;
		exec(program: string, args?: string[], options?: ExecOptions): Promise<ExecResult>;
		appendEntry<T = unknown>(customType: string, data?: T): void;
		sendMessage<T = unknown>(message: HookMessage<T>, options?: SendMessageOptions | boolean): void;
		sendUserMessage(content: string | (TextContent | ImageContent)[], options?: { deliverAs?: "steer" | "followUp"; expandPromptTemplates?: boolean }): void;
		setLabel(id: string, label: string | undefined): void;
		getSessionName(): string | undefined;
		setSessionName(name: string): void;
		getActiveTools(): string[];
		getAllTools(): ToolInfo[];
		setActiveTools(names: string[]): void;
		getCommands(): SlashCommandInfo[];
		getThinkingLevel(): ThinkingLevel;
		setThinkingLevel(level: ThinkingLevel): void;
		/** False if the model cannot be used. */
		setModel(model: Model<any>): Promise<boolean>;
		events: EventBus;
	}
	/** @deprecated The old name of `ExtensionAPI`, whose commands get only the context. */
	export type HookAPI = Omit<ExtensionAPI, "registerCommand"> & {
		registerCommand(name: string, options: { description?: string; handler(ctx: HookCommandContext): unknown }): void;
	};
	export type ExtensionFactory = (pi: ExtensionAPI) => void | Promise<void>;

	/** The second argument of handlers. Members are read when they are used. */
	export interface ExtensionContext {
		readonly ui: ExtensionUIContext;
		/** Whether somebody can answer dialogs. */
		readonly hasUI: boolean;
		readonly mode: "tui" | "rpc" | "json" | "print";
		readonly cwd: string;
		readonly sessionManager: SessionManager;
		readonly modelRegistry: ModelRegistry;
		readonly model: Model<any> | undefined;
		readonly thinkingLevel: ThinkingLevel;
		readonly scopedModels: readonly any[];
		readonly signal: AbortSignal | undefined;
		isIdle(): boolean;
		hasPendingMessages(): boolean;
		isProjectTrusted(): boolean;
		getContextUsage(): { tokens: number | null; contextWindow: number; percent: number | null } | undefined;
		getSystemPrompt(): string;
		abort(): void;
		shutdown(): void;
		compact(options?: { customInstructions?: string; onComplete?(result: any): void; onError?(error: Error): void }): void;
	}
	/** The context of commands. */
	export interface ExtensionCommandContext extends ExtensionContext {
		/** Everything after the name of the command. */
		readonly args: string;
		waitForIdle(): Promise<void>;
		reload(): Promise<void>;
		navigateTree(targetId: string, options?: { summarize?: boolean; customInstructions?: string; replaceInstructions?: boolean; label?: string }): Promise<{ cancelled: boolean; editorText?: string }>;
		fork(entryId: string, options?: { position?: "before" | "at"; withSession?(ctx: ExtensionCommandContext): unknown }): Promise<{ cancelled: boolean }>;
		newSession(options?: { parentSession?: string; setup?(sessionManager: SessionManager): unknown; withSession?(ctx: ExtensionCommandContext): unknown }): Promise<{ cancelled: boolean }>;
		switchSession(path: string, options?: { withSession?(ctx: ExtensionCommandContext): unknown }): Promise<{ cancelled: boolean }>;
		getSystemPromptOptions(): BuildSystemPromptOptions;
	}
	/** @deprecated The old name of `ExtensionContext`. */
	export type HookEventContext = ExtensionContext;
	/** @deprecated The old name of `ExtensionCommandContext`. */
	export type HookCommandContext = ExtensionCommandContext;
}
declare module "@mariozechner/pi-coding-agent" {
	export * from "@earendil-works/pi-coding-agent";
}
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
declare module "@earendil-works/pi-coding-agent" {
	import type { AutocompleteProvider, Component, Editor, EditorComponent, EditorTheme, KeybindingsManager, MarkdownTheme, OverlayHandle, OverlayOptions, SelectListTheme, SettingsListTheme, TUI } from "@earendil-works/pi-tui";
	export type { KeybindingsManager };

	export type ThemeColor = string;
	export interface Theme {
		readonly name?: string;
		readonly appearance: "dark" | "light";
		fg(color: ThemeColor, text: string): string;
		bg(color: ThemeColor, text: string): string;
		bold(text: string): string;
		italic(text: string): string;
		underline(text: string): string;
		inverse(text: string): string;
		strikethrough(text: string): string;
		style(text: string, style: { fg?: ThemeColor; bg?: ThemeColor; bold?: boolean; italic?: boolean; underline?: boolean }): string;
		getFgAnsi(color: ThemeColor): string;
		getBgAnsi(color: ThemeColor): string;
		getColorMode(): string;
		[other: string]: any;
	}
	export interface DialogOptions {
		/** Closes the dialog without an answer. */
		signal?: AbortSignal;
		/** Milliseconds until the dialog closes without an answer. */
		timeout?: number;
	}
	export interface WorkingIndicatorOptions {
		/** No frames hide the indicator. */
		frames?: string[];
		intervalMs?: number;
	}
	export interface ReadonlyFooterDataProvider {
		getGitBranch(): string | null;
		getExtensionStatuses(): ReadonlyMap<string, string>;
		getAvailableProviderCount(): number;
		onBranchChange(handler: () => void): () => void;
	}
	export type Drawn = Component & { dispose?(): void };
	/** What extensions show to the user. Without a user, dialogs answer at once: undefined, or false. */
	export interface ExtensionUIContext {
		select(title: string, options: string[], settings?: DialogOptions): Promise<string | undefined>;
		confirm(title: string, message: string, settings?: DialogOptions): Promise<boolean>;
		input(title: string, placeholder?: string, settings?: DialogOptions): Promise<string | undefined>;
		editor(title: string, prefill?: string, settings?: DialogOptions): Promise<string | undefined>;
		notify(message: string, type?: NotifyType): void;
		/** Shows a component with the keyboard until `done` is called. Undefined without a terminal. */
		custom<T>(
			factory: (tui: TUI, theme: Theme, keybindings: KeybindingsManager, done: (result: T) => void) => Drawn | Promise<Drawn>,
			options?: { overlay?: boolean; overlayOptions?: OverlayOptions | (() => OverlayOptions); onHandle?: (handle: OverlayHandle) => void; blocked?: boolean },
		): Promise<T>;
		/** @deprecated The form of earlier versions. The component closes with Escape or `close`, and then calls `whenClosed`. */
		custom(component: Component, whenClosed?: () => void): Promise<undefined> & { close(): void; requestRender(): void };
		setStatus(key: string, text: string | undefined): void;
		setWidget(key: string, content: string[] | ((tui: TUI, theme: Theme) => Drawn) | undefined, options?: { placement?: WidgetPlacement }): void;
		setFooter(factory: ((tui: TUI, theme: Theme, data: ReadonlyFooterDataProvider) => Drawn) | undefined): void;
		setHeader(factory: ((tui: TUI, theme: Theme) => Drawn) | undefined): void;
		setTitle(title: string): void;
		setEditorText(text: string): void;
		getEditorText(): string;
		pasteToEditor(text: string): void;
		setEditorComponent(factory: ((tui: TUI, theme: EditorTheme, keybindings: KeybindingsManager) => EditorComponent) | undefined): void;
		getEditorComponent(): ((tui: TUI, theme: EditorTheme, keybindings: KeybindingsManager) => EditorComponent) | undefined;
		addAutocompleteProvider(wrap: (current: AutocompleteProvider) => AutocompleteProvider): void;
		onTerminalInput(handler: (data: string) => { consume?: boolean; data?: string } | undefined | void): () => void;
		setWorkingMessage(message?: string): void;
		setWorkingIndicator(indicator?: WorkingIndicatorOptions): void;
		setWorkingVisible(visible: boolean): void;
		setHiddenThinkingLabel(label?: string): void;
		getToolsExpanded(): boolean;
		setToolsExpanded(expanded: boolean): void;
		readonly theme: Theme;
		getAllThemes(): { name: string; path?: string }[];
		getTheme(name: string): Theme | undefined;
		setTheme(theme: string | Theme): { success: boolean; error?: string };
	}
	/** @deprecated The old name of `ExtensionUIContext`. */
	export type HookUIContext = ExtensionUIContext;

	export class DynamicBorder implements Component {
		constructor(color?: (text: string) => string);
		render(width: number): string[];
		invalidate(): void;
	}
	export class BorderedLoader implements Component {
		constructor(tui: TUI, theme: Theme, message: string, options?: any);
		readonly signal: AbortSignal;
		onAbort?: () => void;
		setMessage(message: string): void;
		handleInput(data: string): void;
		render(width: number): string[];
		invalidate(): void;
		dispose(): void;
	}
	export class CustomEditor extends Editor {
		constructor(tui: TUI, theme: EditorTheme, keybindings: KeybindingsManager, options?: any);
		onEscape?: () => void;
		actionHandlers: Map<string, () => void>;
	}
	export function getMarkdownTheme(): MarkdownTheme;
	export function getSelectListTheme(): SelectListTheme;
	export function getSettingsListTheme(): SettingsListTheme;
	export function keyHint(action: string, text: string): string;
	export function keyText(action: string): string;
	export function highlightCode(code: string, language?: string): string[];
	export function getLanguageFromPath(path: string): string | undefined;
	export const theme: Theme;
}
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
declare module "@earendil-works/pi-ai" {
	import type { TObject, TSchema, TValue } from "typebox";
	export { Type, type Static, type TSchema } from "typebox";

	export interface TextContent {
		type: "text";
		text: string;
		textSignature?: string;
	}
	export interface ThinkingContent {
		type: "thinking";
		thinking: string;
		thinkingSignature?: string;
		redacted?: boolean;
	}
	export interface ImageContent {
		type: "image";
		/** Base64. */
		data: string;
		mimeType: string;
	}
	export interface ToolCall {
		type: "toolCall";
		id: string;
		name: string;
		arguments: Record<string, any>;
	}
	export interface Usage {
		input: number;
		output: number;
		cacheRead: number;
		cacheWrite: number;
		totalTokens: number;
		cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
	}
	export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted" | "pending";
	export interface UserMessage {
		role: "user";
		content: string | (TextContent | ImageContent)[];
		timestamp: number;
	}
	export interface AssistantMessage {
		role: "assistant";
		content: (TextContent | ThinkingContent | ToolCall)[];
		api: Api;
		provider: string;
		model: string;
		usage: Usage;
		stopReason: StopReason;
		errorMessage?: string;
		timestamp: number;
		[other: string]: any;
	}
	export interface ToolResultMessage<T = any> {
		role: "toolResult";
		toolCallId: string;
		toolName: string;
		content: (TextContent | ImageContent)[];
		details?: T;
		isError: boolean;
		timestamp: number;
		[other: string]: any;
	}
	export interface SystemMessage {
		role: "system";
		content: string | TextContent[];
		timestamp: number;
		[other: string]: any;
	}
	export type Message = UserMessage | AssistantMessage | ToolResultMessage;
	export type Api = string;
	export interface Model<A extends Api = Api> {
		id: string;
		name: string;
		api: A;
		provider: string;
		baseUrl: string;
		reasoning: boolean;
		input: ("text" | "image")[];
		cost: { input: number; output: number; cacheRead: number; cacheWrite: number };
		contextWindow: number;
		maxTokens: number;
		headers?: Record<string, string>;
		thinkingLevelMap?: ThinkingLevelMap;
		[other: string]: any;
	}
	export type ThinkingLevelMap = Record<string, any>;
	export interface Tool<S = TSchema> {
		name: string;
		description: string;
		parameters: S;
		[other: string]: any;
	}
	export interface Context {
		systemPrompt?: string;
		messages: Message[];
		tools?: Tool[];
	}
	export interface TranscriptContext {
		messages: any[];
		tools?: Tool[];
		[other: string]: any;
	}
	export interface StreamOptions {
		apiKey?: string;
		headers?: Record<string, string>;
		maxTokens?: number;
		temperature?: number;
		signal?: AbortSignal;
		sessionId?: string;
		cacheRetention?: "none" | "short" | "long";
		[other: string]: any;
	}
	export interface SimpleStreamOptions extends StreamOptions {
		reasoning?: string;
	}
	export type AssistantMessageEvent = { type: string; partial?: any; message?: any; error?: any; contentIndex?: number; delta?: any; [other: string]: any };
	export interface AssistantMessageEventStream extends AsyncIterable<AssistantMessageEvent> {
		push(event: AssistantMessageEvent): void;
		end(message?: AssistantMessage): void;
		result(): Promise<AssistantMessage>;
	}
	export interface OAuthCredentials {
		access: string;
		refresh: string;
		expires: number;
		[other: string]: any;
	}
	export interface OAuthLoginCallbacks {
		onAuth(info: { url: string; instructions?: string }): void;
		onPrompt(prompt: { message: string; placeholder?: string; allowEmpty?: boolean }): Promise<string>;
		onProgress?(message: string): void;
		onManualCodeInput?(): Promise<string>;
		signal?: AbortSignal;
		[other: string]: any;
	}
	/** A string with one of these values, as providers understand it. */
	export function StringEnum<const T extends readonly string[]>(values: T, options?: { description?: string; default?: T[number] }): TValue<T[number]>;
	export function complete(model: Model<any>, context: Context, options?: StreamOptions): Promise<AssistantMessage>;
	export function completeSimple(model: Model<any>, context: Context, options?: SimpleStreamOptions): Promise<AssistantMessage>;
	export function stream(model: Model<any>, context: Context, options?: StreamOptions): AssistantMessageEventStream;
	export function streamSimple(model: Model<any>, context: Context | TranscriptContext, options?: SimpleStreamOptions): AssistantMessageEventStream;
	export function createAssistantMessageEventStream(): AssistantMessageEventStream;
	export function calculateCost(model: Model<any>, usage: Usage): Usage["cost"];
	export function getSupportedThinkingLevels(model: Model<any>): string[];
	export function validateToolArguments(tool: Tool, call: ToolCall): any;
	export function uuidv7(): string;
	export function collapseSystemMessages(messages: any): any;
	export function getCurrentSystemPrompt(messages: any): string;
	export function getCurrentTools(messages: any): Tool[];
	export function registerApiProvider(provider: any): void;
	export function anthropicMessagesApi(...options: any[]): any;
	export function openAIResponsesApi(...options: any[]): any;
	export class ToolCallArgumentsStream {
		constructor(...options: any[]);
		[member: string]: any;
	}
	export type { TObject };
}
declare module "@earendil-works/pi-ai/compat" {
	export * from "@earendil-works/pi-ai";
}
declare module "@earendil-works/pi-ai/oauth" {
	export * from "@earendil-works/pi-ai";
}
declare module "@mariozechner/pi-ai" {
	export * from "@earendil-works/pi-ai";
}
declare module "@earendil-works/pi-agent-core" {
	import type { ImageContent, Message, TextContent } from "@earendil-works/pi-ai";
	export type { ThinkingLevel } from "@earendil-works/pi-coding-agent";
	export interface CustomAgentMessage {
		role: "custom" | "bashExecution" | "branchSummary" | "compactionSummary" | "system";
		[field: string]: any;
	}
	export type AgentMessage = Message | CustomAgentMessage;
	export interface AgentToolResult<T = any> {
		content: (TextContent | ImageContent)[];
		details?: T;
		isError?: boolean;
		/** Ends the turn, if all calls of the reply want that. */
		terminate?: boolean;
		[other: string]: any;
	}
}
declare module "@mariozechner/pi-agent-core" {
	export * from "@earendil-works/pi-agent-core";
}
declare module "@earendil-works/pi-tui" {
	/** Something that draws lines. Each line may have at most `width` columns. */
	export interface Component {
		render(width: number): string[];
		/** `data` is the sequence of one key, as the terminal sends it. */
		handleInput?(data: string): void;
		invalidate(): void;
		dispose?(): void;
		wantsKeyRelease?: boolean;
		capturesViewportInput?: boolean | (() => boolean);
	}
	export interface Focusable {
		focused: boolean;
	}
	export interface Terminal {
		readonly columns: number;
		readonly rows: number;
		readonly kittyProtocolActive: boolean;
		write(data: string): void;
	}
	export type OverlayAnchor = "center" | "top-left" | "top-center" | "top-right" | "left-center" | "right-center" | "bottom-left" | "bottom-center" | "bottom-right";
	export type SizeValue = number | `${number}%`;
	export interface OverlayOptions {
		anchor?: OverlayAnchor;
		width?: SizeValue;
		minWidth?: number;
		maxHeight?: SizeValue;
		margin?: number | { top?: number; right?: number; bottom?: number; left?: number };
		offsetX?: number;
		offsetY?: number;
		row?: SizeValue;
		col?: SizeValue;
		visible?: (columns: number, rows: number) => boolean;
		nonCapturing?: boolean;
	}
	export interface OverlayHandle {
		hide(): void;
		setHidden(hidden: boolean): void;
		isHidden(): boolean;
		focus(): void;
		unfocus(options?: { target?: Component | null }): void;
		isFocused(): boolean;
		getBounds(): { row: number; col: number; width: number; height: number };
	}
	export interface TUI {
		readonly terminal: Terminal;
		requestRender(force?: boolean): void;
		invalidate(): void;
		start(): void;
		stop(): void;
		setFocus(component: Component | null): void;
		showOverlay(component: Component, options?: OverlayOptions): OverlayHandle;
		hideOverlay(): void;
		hasOverlay(): boolean;
		addChild(component: Component): void;
		removeChild(component: Component): void;
		addInputListener(listener: (data: string) => { consume?: boolean; data?: string } | undefined | void): () => void;
	}

	export class Container implements Component {
		children: Component[];
		addChild(component: Component): void;
		removeChild(component: Component): void;
		clear(): void;
		render(width: number): string[];
		handleInput?(data: string): void;
		invalidate(): void;
	}
	export class Text implements Component {
		constructor(text?: string, paddingX?: number, paddingY?: number, background?: (text: string) => string);
		setText(text: string): void;
		render(width: number): string[];
		invalidate(): void;
	}
	export class TruncatedText extends Text {}
	export class Spacer implements Component {
		constructor(lines?: number);
		setLines(lines: number): void;
		render(width: number): string[];
		invalidate(): void;
	}
	export class Box extends Container {
		constructor(paddingX?: number, paddingY?: number, background?: (text: string) => string);
		setBgFn(background?: (text: string) => string): void;
	}
	export interface MarkdownTheme {
		[element: string]: any;
	}
	export class Markdown implements Component {
		constructor(text: string, paddingX: number, paddingY: number, theme: MarkdownTheme, style?: any, options?: any);
		setText(text: string): void;
		render(width: number): string[];
		invalidate(): void;
	}
	export class Loader extends Text {
		constructor(tui: TUI, spinner: (text: string) => string, message: (text: string) => string, text?: string);
		start(): void;
		stop(): void;
		setMessage(text: string): void;
	}
	export class CancellableLoader extends Loader {
		readonly signal: AbortSignal;
		readonly aborted: boolean;
		onAbort?: () => void;
		handleInput(data: string): void;
	}
	export class Input implements Component, Focusable {
		focused: boolean;
		onSubmit?: (value: string) => void;
		onEscape?: () => void;
		getValue(): string;
		setValue(value: string): void;
		handleInput(data: string): void;
		render(width: number): string[];
		invalidate(): void;
	}
	export interface SelectItem {
		value: string;
		label: string;
		description?: string;
	}
	export interface SelectListTheme {
		selectedPrefix(text: string): string;
		selectedText(text: string): string;
		description(text: string): string;
		scrollInfo(text: string): string;
		noMatch(text: string): string;
	}
	export class SelectList implements Component {
		constructor(items: SelectItem[], maxVisible: number, theme: SelectListTheme, layout?: any);
		capturesViewportInput?: boolean | (() => boolean);
		onSelect?: (item: SelectItem) => void;
		onCancel?: () => void;
		onSelectionChange?: (item: SelectItem) => void;
		setFilter(filter: string): void;
		setSelectedIndex(index: number): void;
		getSelectedItem(): SelectItem | null;
		handleInput(data: string): void;
		render(width: number): string[];
		invalidate(): void;
	}
	export interface SettingItem {
		id: string;
		label: string;
		description?: string;
		currentValue: string;
		values?: string[];
		submenu?: (currentValue: string, done: (value?: string) => void) => Component;
	}
	export interface SettingsListTheme {
		[element: string]: any;
	}
	export class SettingsList implements Component {
		constructor(items: SettingItem[], maxVisible: number, theme: SettingsListTheme, onChange: (id: string, value: string) => void, onCancel: () => void, options?: { enableSearch?: boolean });
		capturesViewportInput?: boolean | (() => boolean);
		updateValue(id: string, value: string): void;
		handleInput(data: string): void;
		render(width: number): string[];
		invalidate(): void;
	}
	export interface EditorTheme {
		borderColor: (text: string) => string;
		selectList: SelectListTheme;
	}
	export class Editor implements Component, Focusable {
		constructor(tui: TUI, theme: EditorTheme, options?: any);
		focused: boolean;
		borderColor: (text: string) => string;
		disableSubmit: boolean;
		onSubmit?: (text: string) => void;
		onChange?: (text: string) => void;
		getText(): string;
		getExpandedText(): string;
		getLines(): string[];
		getCursor(): { line: number; col: number };
		setText(text: string): void;
		insertTextAtCursor(text: string): void;
		addToHistory(text: string): void;
		setAutocompleteProvider(provider: AutocompleteProvider): void;
		getPaddingX(): number;
		isShowingAutocomplete(): boolean;
		handleInput(data: string): void;
		render(width: number): string[];
		invalidate(): void;
		protected tui: TUI;
	}
	export interface AutocompleteItem {
		value: string;
		label: string;
		description?: string;
	}
	export interface AutocompleteSuggestions {
		items: AutocompleteItem[];
		prefix: string;
	}
	export interface AutocompleteProvider {
		getSuggestions(lines: string[], line: number, col: number, options?: any): Promise<AutocompleteSuggestions | null>;
		applyCompletion(lines: string[], line: number, col: number, item: AutocompleteItem, prefix: string): { lines: string[]; cursorLine: number; cursorCol: number };
		shouldTriggerFileCompletion?(lines: string[], line: number, col: number): boolean;
		triggerCharacters?: string[];
	}
	export interface EditorComponent extends Component {
		getText(): string;
		setText(text: string): void;
		onSubmit?: (text: string) => void;
		onChange?: (text: string) => void;
	}
	export class Image implements Component {
		constructor(data: string, mimeType: string, theme: any, options?: any);
		render(width: number): string[];
		invalidate(): void;
	}

	/** The name of a key, such as `ctrl+shift+p`, `escape` or `a`. */
	export type KeyId = string;
	export const Key: Record<string, any> & {
		escape: KeyId;
		enter: KeyId;
		tab: KeyId;
		space: KeyId;
		backspace: KeyId;
		up: KeyId;
		down: KeyId;
		left: KeyId;
		right: KeyId;
		home: KeyId;
		end: KeyId;
		ctrl(key: string): KeyId;
		alt(key: string): KeyId;
		shift(key: string): KeyId;
		ctrlShift(key: string): KeyId;
		ctrlAlt(key: string): KeyId;
	};
	export const CURSOR_MARKER: string;
	export function matchesKey(data: string, key: KeyId): boolean;
	export function parseKey(data: string): KeyId | undefined;
	export function isKeyRelease(data: string): boolean;
	export function visibleWidth(text: string): number;
	export function truncateToWidth(text: string, width: number, ellipsis?: string, pad?: boolean): string;
	export function wrapTextWithAnsi(text: string, width: number): string[];
	export function sliceByColumn(text: string, from: number, length: number, strict?: boolean): string;
	export function renderFakeCursor(text: string): string;
	export function hyperlink(text: string, url: string): string;
	export function fuzzyMatch(query: string, text: string): { matches: boolean; score: number };
	export function fuzzyFilter<T>(items: T[], query: string, text: (item: T) => string): T[];
	export interface KeybindingsManager {
		matches(data: string, action: string): boolean;
		getKeys(action: string): KeyId[];
		[member: string]: any;
	}
	export function getKeybindings(): KeybindingsManager;
}
declare module "@mariozechner/pi-tui" {
	export * from "@earendil-works/pi-tui";
}
declare module "typebox" {
	/** A JSON schema that knows the type of its values. */
	export interface TSchema {
		[key: string]: any;
	}
	export interface TValue<T> extends TSchema {
		static: T;
	}
	export interface TOptional<T> extends TValue<T | undefined> {
		optional: true;
	}
	export interface TObject<P = any> extends TValue<ObjectValue<P>> {
		properties: P;
	}
	export type Static<S> = S extends { static: infer T } ? T : any;
	type OptionalKeys<P> = { [K in keyof P]: P[K] extends TOptional<any> ? K : never }[keyof P];
	type ObjectValue<P> = { [K in Exclude<keyof P, OptionalKeys<P>>]: Static<P[K]> } & { [K in OptionalKeys<P>]?: Static<P[K]> };
	type Options = Record<string, any>;
	export const Type: {
		Object<P extends Record<string, TSchema>>(properties: P, options?: Options): TObject<P>;
		String(options?: Options): TValue<string>;
		Number(options?: Options): TValue<number>;
		Integer(options?: Options): TValue<number>;
		Boolean(options?: Options): TValue<boolean>;
		Null(options?: Options): TValue<null>;
		Any(options?: Options): TValue<any>;
		Unknown(options?: Options): TValue<unknown>;
		Literal<const T extends string | number | boolean>(value: T, options?: Options): TValue<T>;
		Enum<const T>(values: T, options?: Options): TValue<T extends readonly (infer V)[] ? V : T[keyof T]>;
		Array<S extends TSchema>(items: S, options?: Options): TValue<Static<S>[]>;
		Tuple<S extends TSchema[]>(items: [...S], options?: Options): TValue<any[]>;
		Union<S extends TSchema[]>(options: [...S], settings?: Options): TValue<Static<S[number]>>;
		Intersect<S extends TSchema[]>(parts: [...S], options?: Options): TValue<any>;
		Record<V extends TSchema>(key: TSchema, value: V, options?: Options): TValue<Record<string, Static<V>>>;
		Optional<S extends TSchema>(schema: S): TOptional<Static<S>>;
		Partial<S extends TSchema>(schema: S, options?: Options): TValue<Partial<Static<S>>>;
		Ref(name: string, options?: Options): TValue<any>;
		Unsafe<T = unknown>(schema: Options): TValue<T>;
	};
	export const Kind: unique symbol;
}
declare module "typebox/value" {
	import type { Static, TSchema } from "typebox";
	export const Value: {
		Check<S extends TSchema>(schema: S, value: unknown): value is Static<S>;
		Convert(schema: TSchema, value: unknown): unknown;
		Default(schema: TSchema, value: unknown): unknown;
		Clean(schema: TSchema, value: unknown): unknown;
		Parse<S extends TSchema>(schema: S, value: unknown): Static<S>;
		Errors(schema: TSchema, value: unknown): Iterable<{ path: string; message: string; value: unknown }>;
	};
	export const Check: typeof Value.Check;
	export const Convert: typeof Value.Convert;
	export const Default: typeof Value.Default;
	export const Clean: typeof Value.Clean;
	export const Parse: typeof Value.Parse;
	export const Errors: typeof Value.Errors;
}
declare module "typebox/compile" {
	import type { Static, TSchema } from "typebox";
	export function Compile<S extends TSchema>(schema: S): { Check(value: unknown): value is Static<S>; Errors(value: unknown): { path: string; message: string }[] };
}
declare module "@sinclair/typebox" {
	export * from "typebox";
}
declare module "@sinclair/typebox/value" {
	export * from "typebox/value";
}
declare module "@sinclair/typebox/compiler" {
	export * from "typebox/compile";
}
