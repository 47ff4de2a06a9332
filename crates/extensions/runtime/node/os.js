// The module `os` of Node.

import { environment } from "osier:context.js";

const facts = () => environment().system ?? {};
const variable = (name) => environment().variables?.[name];

export const EOL = "\n";
export const devNull = "/dev/null";
export const homedir = () => variable("HOME") ?? "/";
export const tmpdir = () => (variable("TMPDIR") ?? "/tmp").replace(/(.)\/$/, "$1");
export const platform = () => facts().platform ?? "linux";
export const type = () => (platform() === "darwin" ? "Darwin" : "Linux");
export const arch = () => facts().arch ?? "x64";
export const machine = () => (arch() === "arm64" ? "aarch64" : "x86_64");
export const release = () => facts().release ?? "";
export const version = release;
export const hostname = () => facts().hostname ?? "localhost";
export const endianness = () => "LE";
export const uptime = () => performance.now() / 1000;
export const loadavg = () => [0, 0, 0];
export const totalmem = () => facts().memory ?? 0;
export const freemem = () => 0;
export const availableParallelism = () => facts().processors ?? 1;
export const cpus = () => Array.from({ length: availableParallelism() }, () => ({ model: "", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }));
export const networkInterfaces = () => ({});
export const userInfo = () => ({ username: variable("USER") ?? variable("LOGNAME") ?? "user", uid: facts().uid ?? -1, gid: -1, shell: variable("SHELL") ?? null, homedir: homedir() });
export const constants = {
	signals: { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGKILL: 9, SIGUSR1: 10, SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGCONT: 18, SIGSTOP: 19 },
	errno: { ENOENT: 2, EACCES: 13, EEXIST: 17, EPERM: 1 },
};

export default {
	EOL, devNull, homedir, tmpdir, platform, type, arch, machine, release, version, hostname, endianness, uptime, loadavg, totalmem, freemem,
	availableParallelism, cpus, networkInterfaces, userInfo, constants,
};
