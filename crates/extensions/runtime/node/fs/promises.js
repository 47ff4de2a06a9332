// The module `fs/promises` of Node.

import { constants, promises } from "osier:node/fs.js";

export { constants };
export const {
	readFile, writeFile, appendFile, stat, lstat, access, readdir, opendir, mkdir, mkdtemp, unlink, rmdir, rm, rename, copyFile, cp, symlink,
	readlink, realpath, chmod, utimes, truncate, open, watch,
} = promises;
export default promises;
