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
