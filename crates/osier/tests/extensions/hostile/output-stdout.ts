// Writes to standard output, where the protocol of RPC and JSON mode is.
export default (pi) => {
	pi.on("session_start", () => {
		console.log("printed"); console.info("printed"); console.table?.([["printed"]]);
		globalThis["process"]?.stdout?.write?.("printed\n");
	});
};
