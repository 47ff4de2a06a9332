// Text in a terminal. Rust measures, cuts and wraps.

import { native } from "osier:primitives.js";

const { text: rust } = native;
const columns = (value) => Math.max(0, Math.floor(Number(value)) || 0);

/** Marks the place of the cursor in a rendered line. */
export const CURSOR_MARKER = "\u001b_pi:c\u0007";

/** The number of columns of a text without its escape sequences. */
export const visibleWidth = (text) => rust.width(String(text));
/** Shortens a text to a number of columns. */
export const truncateToWidth = (text, maxWidth, ellipsis = "...", pad = false) => rust.truncate(String(text), columns(maxWidth), String(ellipsis), !!pad);
/** Breaks a text into lines of at most `width` columns, at spaces where possible. */
export const wrapTextWithAnsi = (text, width) => rust.wrap(String(text), columns(width));
export const sliceByColumn = (text, start, length, strict = false) => rust.slice(String(text), columns(start), columns(length), !!strict);
export const sliceWithWidth = (text, start, length) => {
	const part = sliceByColumn(text, start, length);
	return { text: part, width: visibleWidth(part) };
};
export const normalizeTerminalOutput = (text) => String(text).replaceAll("\t", "   ");
export const hyperlink = (text, url) => `\u001b]8;;${url}\u001b\\${text}\u001b]8;;\u001b\\`;
/** A character as a cursor. */
export const renderFakeCursor = (text = " ") => `\u001b[7m${text || " "}\u001b[27m`;

const segmenter = { segment: (text) => JSON.parse(rust.segments(String(text), "grapheme")).map(([index, segment]) => ({ index, segment })) };
export const getSegmenter = () => segmenter;
export const graphemes = (text) => segmenter.segment(text).map(({ segment }) => segment);
export const isWhitespaceChar = (char) => /\s/.test(char);
export const isPunctuationChar = (char) => /[(){}[\]<>.,;:'"!?+\-=*/\\|&%^$#@~`]/.test(char);

/** A line with a padding on both sides, filled up to the width and with a background. */
export function padLine(line, width, paddingX = 0, background) {
	const full = " ".repeat(paddingX) + line;
	const filled = full + " ".repeat(Math.max(0, width - visibleWidth(full)));
	return background ? background(filled) : filled;
}
export const applyBackgroundToLine = (line, width, background) => padLine(line, width, 0, background);

const noImages = { images: null, trueColor: true, hyperlinks: true };
export const getCapabilities = () => noImages;
export const detectCapabilities = () => noImages;
export const isImageLine = () => false;
export const imageFallback = (mimeType, dimensions, filename) => `[Image: ${[filename, `[${mimeType}]`, dimensions && `${dimensions.widthPx}x${dimensions.heightPx}`].filter(Boolean).join(" ")}]`;
export const getImageDimensions = () => null;
export const getCellDimensions = () => ({ widthPx: 9, heightPx: 18 });
export const isFocusable = (component) => component !== null && typeof component === "object" && "focused" in component;
// eslint-disable-next-line no-control-regex
export const stripTerminalSequences = (text) => String(text).replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][\s\S]*?(?:\u0007|\u001b\\)|[@-Z\\-_])/g, "");
