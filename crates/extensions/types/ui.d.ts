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
