// The module `module` of Node.

import { createRequire } from "osier:commonjs.js";

export { createRequire };
export const builtinModules = ["buffer", "child_process", "crypto", "events", "fs", "fs/promises", "module", "os", "path", "process", "readline", "stream", "timers", "timers/promises", "url", "util"];
export const isBuiltin = (name) => builtinModules.includes(String(name).replace(/^node:/, ""));
export default { createRequire, builtinModules, isBuiltin };
