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
