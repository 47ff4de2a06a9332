// The module `stream/promises` of Node.

import { pipeline as run } from "osier:node/stream.js";

export const pipeline = (...streams) => run(...streams);
export default { pipeline };
