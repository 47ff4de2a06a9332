// The module `url` of Node, as far as extensions use it.

import { resolve } from "osier:node/path.js";

export function fileURLToPath(url) {
	const text = typeof url === "string" ? url : url.href;
	if (!text.startsWith("file:")) throw new TypeError("The URL must be of scheme file");
	return decodeURIComponent(text.replace(/^file:\/\/(localhost)?/, ""));
}

export function pathToFileURL(path) {
	const encoded = resolve(path).split("/").map(encodeURIComponent).join("/");
	const href = `file://${encoded}`;
	return typeof URL === "function" ? new URL(href) : { href, pathname: encoded, protocol: "file:", toString: () => href };
}

export default { fileURLToPath, pathToFileURL };
