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
