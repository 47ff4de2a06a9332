// The module `perf_hooks` of Node.

export const performance = globalThis.performance;
export default { performance };
