// The library in Node: `main.js`, and the modules that must exist before something requires them.

export { dispatch } from "osier:main.js";
import * as abort from "osier:abort.js";
import { addModule } from "osier:commonjs.js";
import { native } from "osier:primitives.js";

/** The modules of pi's packages and of TypeBox, by their names in the library. */
export const preloaded = new Map([["osier:abort.js", abort]]);
/** The parts that QuickJS loads when they are first used. */
const PARTS = ["models", "providers", "renderers", "screen", "session", "tools", "ui"].map((name) => `osier:${name}.js`);
for (const name of [...native.libraryModules, ...PARTS]) preloaded.set(name, await import(name));
for (const [name, module] of preloaded) addModule(name, module);
