// pi's RpcClient starts a Node program; this one becomes osier.
process.execve(process.env.OSIER_BIN, [process.env.OSIER_BIN, ...process.argv.slice(2)], process.env);
