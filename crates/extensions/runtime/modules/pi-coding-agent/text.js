// Text: sizes, truncation, front matter, languages, colored code.

import { native, parse } from "osier:primitives.js";
import { theme } from "osier:theme.js";

export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
export const GREP_MAX_LINE_LENGTH = 500;

export function formatSize(bytes) {
	if (bytes < 1024) return `${bytes}B`;
	if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
	return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

const byteLength = (text) => Buffer.byteLength(text);

function truncate(content, { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES } = {}, fromEnd) {
	const lines = content.split("\n");
	const totalBytes = byteLength(content);
	const base = { totalLines: lines.length, totalBytes, maxLines, maxBytes, lastLinePartial: false, firstLineExceedsLimit: false };
	if (lines.length <= maxLines && totalBytes <= maxBytes) {
		return { ...base, content, truncated: false, truncatedBy: null, outputLines: lines.length, outputBytes: totalBytes };
	}
	const kept = [];
	let bytes = 0;
	let truncatedBy = "lines";
	const ordered = fromEnd ? [...lines].reverse() : lines;
	for (const line of ordered) {
		if (kept.length >= maxLines) break;
		const size = byteLength(line) + (kept.length ? 1 : 0);
		if (bytes + size > maxBytes) {
			truncatedBy = "bytes";
			break;
		}
		kept.push(line);
		bytes += size;
	}
	if (fromEnd) kept.reverse();
	const firstLineExceedsLimit = !fromEnd && kept.length === 0;
	return { ...base, content: kept.join("\n"), truncated: true, truncatedBy, outputLines: kept.length, outputBytes: bytes, firstLineExceedsLimit };
}

export const truncateHead = (content, options) => truncate(content, options, false);
export const truncateTail = (content, options) => truncate(content, options, true);
export function truncateLine(line, maxChars = GREP_MAX_LINE_LENGTH) {
	return line.length <= maxChars ? { text: line, wasTruncated: false } : { text: `${line.slice(0, maxChars)}... [truncated]`, wasTruncated: true };
}

const scalar = (text) => {
	const value = text.trim();
	if (/^(".*"|'.*')$/s.test(value)) return value.slice(1, -1);
	if (value === "true" || value === "false") return value === "true";
	if (value === "" || value === "null" || value === "~") return null;
	if (/^-?\d+(\.\d+)?$/.test(value)) return Number(value);
	if (value.startsWith("[") && value.endsWith("]")) return value.slice(1, -1).split(",").map((item) => item.trim()).filter(Boolean).map(scalar);
	return value;
};

/** The simple YAML between two lines of dashes, and the rest: values, lists and texts of several lines. */
export function parseFrontmatter(content) {
	const text = content.replace(/\r\n?/g, "\n");
	const match = text.match(/^---\n([\s\S]*?)\n---[ \t]*(?:\n|$)/);
	if (!match) return { frontmatter: {}, body: text };
	const frontmatter = {};
	const lines = match[1].split("\n");
	for (let at = 0; at < lines.length; at += 1) {
		const [, key, value] = lines[at].match(/^([\w.-]+):\s*(.*)$/) ?? [];
		if (!key) continue;
		const inner = [];
		while (at + 1 < lines.length && /^(\s+|- )/.test(lines[at + 1])) inner.push(lines[(at += 1)]);
		if (/^[|>][+-]?$/.test(value)) frontmatter[key] = inner.map((line) => line.trim()).join(value.startsWith("|") ? "\n" : " ");
		else if (!value && inner.length && inner.every((line) => line.trim().startsWith("- "))) frontmatter[key] = inner.map((line) => scalar(line.trim().slice(2)));
		else if (!value && inner.length) frontmatter[key] = Object.fromEntries(inner.map((line) => line.trim().split(/:\s*(.*)/s)).map(([name, item]) => [name, scalar(item ?? "")]));
		else frontmatter[key] = scalar([value, ...inner.map((line) => line.trim())].join(" "));
	}
	return { frontmatter, body: text.slice(match[0].length).trim() };
}
export const stripFrontmatter = (content) => parseFrontmatter(content).body;

const LANGUAGES = {
	ts: "typescript", tsx: "typescript", mts: "typescript", cts: "typescript", js: "javascript", jsx: "javascript", mjs: "javascript", cjs: "javascript", py: "python", rs: "rust",
	go: "go", java: "java", kt: "kotlin", c: "c", h: "c", cpp: "cpp", hpp: "cpp", cc: "cpp", cs: "csharp", rb: "ruby", php: "php", swift: "swift", sh: "bash", bash: "bash", zsh: "bash",
	sql: "sql", html: "html", css: "css", scss: "scss", json: "json", yaml: "yaml", yml: "yaml", toml: "toml", xml: "xml", md: "markdown", lua: "lua", zig: "zig", vue: "vue", svelte: "svelte",
};
export const getLanguageFromPath = (path) => LANGUAGES[String(path).split(".").at(-1).toLowerCase()];
/** Lines of code in the colors of the theme. */
export function highlightCode(code, language) {
	const color = ([name, text]) => (name ? theme.fg(name, text) : text);
	return parse(native.text.highlight(String(code), String(language ?? ""))).map((line) => line.map(color).join(""));
}

export function formatReadLineRange(args) {
	const { offset, limit } = args ?? {};
	if (offset === undefined && limit === undefined) return "";
	const start = offset ?? 1;
	return limit === undefined ? `:${start}` : `:${start}-${start + limit - 1}`;
}
