// Takes the library itself as the place from which modules are required.
import { createRequire } from "node:module";
export default function (pi) {
	for (const base of ["osier:main.js", "osier:x", "file://osier:main.js", "osier:/x", "", "x.ts", "//osier:x"]) {
		for (const name of ["osier:primitives.js", "./primitives.js", "osier:now/osier:primitives.js"]) {
			try {
				const library = createRequire(base)(name);
				if (library?.native || library?.call || library?.notice) console.log("ACHIEVED", base, name);
			} catch {}
		}
	}
}
