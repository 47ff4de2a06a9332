// Goes on in finally when it is interrupted.
export default (pi) => {
	pi.on("session_start", () => { const again = () => { try { for (;;) {} } finally { again(); } }; again(); });
};
