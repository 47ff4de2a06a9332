// Changes Object.prototype before the library uses it.
Object.prototype.cancel = true;
Object.prototype.block = true;
Object.prototype.method = "exec";
export default (pi) => {
	pi.on("session_start", () => {});
	pi.on("tool_call", () => {});
};
