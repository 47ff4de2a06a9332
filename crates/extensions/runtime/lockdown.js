// Closes what the engine offers to all code and extensions must not have. Evaluated first.

// The frames that it gives would contain the functions of this library. Packages may set it; that has no effect.
Object.defineProperty(Error, "prepareStackTrace", { get: () => undefined, set: () => {}, configurable: false });
