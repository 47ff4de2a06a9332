// What extensions import from pi-coding-agent: constants and small functions. Sessions of an extension's own are not available.

import { environment } from "osier:context.js";

export const VERSION = "1.5.0";
export const CONFIG_DIR_NAME = ".osier";
export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;

/** The folder that an extension may use for its own files. */
export const getAgentDir = () => environment().agentDir;

export const defineTool = (definition) => definition;
export const isToolCallEventType = (name, event) => event?.toolName === name;

export function formatSize(bytes) {
	if (bytes < 1024) return `${bytes}B`;
	if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
	return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

const byteLength = (text) => {
	let length = 0;
	for (const char of text) {
		const code = char.codePointAt(0);
		length += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	}
	return length;
};

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
export function truncateLine(line, maxChars = 500) {
	return line.length <= maxChars ? { text: line, wasTruncated: false } : { text: `${line.slice(0, maxChars)}... [truncated]`, wasTruncated: true };
}

function unavailable(name) {
	throw new Error(`${name} is not available in Osier's extensions`);
}
export const createAgentSession = () => unavailable("createAgentSession");
