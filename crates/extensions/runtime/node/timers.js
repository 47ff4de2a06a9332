// The module `timers` of Node.

import * as timers from "osier:timers.js";

export * from "osier:timers.js";
export default timers;
