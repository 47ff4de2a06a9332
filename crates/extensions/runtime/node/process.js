// The global `process`. Output goes where `console` writes; the program itself is Osier.

import { native, notice } from "osier:primitives.js";
import { environment } from "osier:context.js";
import { console } from "osier:console.js";
import { EventEmitter } from "osier:node/events.js";
import { Readable, Writable } from "osier:node/stream.js";

const facts = () => environment().system ?? {};

function output(level) {
	const stream = new Writable({
		write(chunk, _encoding, done) {
			notice("log", { level, text: chunk.toString().replace(/\n$/, "") });
			done();
		},
	});
	return Object.assign(stream, { isTTY: false, columns: 80, rows: 24, fd: level === "info" ? 1 : 2, getWindowSize: () => [80, 24], hasColors: () => false });
}

class Process extends EventEmitter {
	title = "osier";
	version = "v22.19.0";
	versions = { node: "22.19.0", osier: "1" };
	release = { name: "node" };
	config = { variables: {} };
	execArgv = [];
	exitCode = undefined;
	#env;
	stdout = output("info");
	stderr = output("error");
	stdin = Object.assign(new Readable(), { isTTY: false, fd: 0, setRawMode: () => {} });
	get env() {
		this.#env ??= { ...environment().variables };
		return this.#env;
	}
	set env(values) {
		this.#env = values;
	}
	get pid() {
		return facts().pid ?? 1;
	}
	get ppid() {
		return facts().pid ?? 1;
	}
	get platform() {
		return facts().platform ?? "linux";
	}
	get arch() {
		return facts().arch ?? "x64";
	}
	get execPath() {
		return facts().program ?? "osier";
	}
	/** A program that starts pi again with these starts Osier, which ignores its own path as the first argument. */
	get argv() {
		return [this.execPath, this.execPath];
	}
	get argv0() {
		return this.execPath;
	}
	cwd() {
		return environment().cwd;
	}
	chdir() {
		throw new Error("process.chdir() is not available in Osier's extensions");
	}
	exit() {
		throw new Error("process.exit() is not available in Osier's extensions; use ctx.shutdown()");
	}
	abort() {
		this.exit();
	}
	kill() {
		throw new Error("process.kill() is not available in Osier's extensions");
	}
	nextTick(callback, ...args) {
		queueMicrotask(() => callback(...args));
	}
	uptime() {
		return native.now() / 1000;
	}
	hrtime(before) {
		const now = native.now();
		const [seconds, nanoseconds] = [Math.floor(now / 1000), Math.floor((now % 1000) * 1e6)];
		if (!before) return [seconds, nanoseconds];
		const difference = (seconds - before[0]) * 1e9 + (nanoseconds - before[1]);
		return [Math.floor(difference / 1e9), difference % 1e9];
	}
	memoryUsage() {
		return { rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 };
	}
	cpuUsage() {
		return { user: 0, system: 0 };
	}
	resourceUsage() {
		return { userCPUTime: 0, systemCPUTime: 0, maxRSS: 0 };
	}
	getuid() {
		return facts().uid ?? -1;
	}
	geteuid() {
		return facts().uid ?? -1;
	}
	getgid() {
		return -1;
	}
	umask() {
		return 0o22;
	}
	emitWarning(warning) {
		console.warn(warning instanceof Error ? warning.message : String(warning));
	}
}

const process = new Process();
Process.prototype.hrtime.bigint = () => BigInt(Math.floor(native.now() * 1e6));
Process.prototype.memoryUsage.rss = () => 0;
export const { env, platform, arch, version, versions, stdout, stderr, stdin } = process;
export const cwd = () => process.cwd();
export const nextTick = (...args) => process.nextTick(...args);
export const exit = () => process.exit();
export { process };
export default process;
