//! The engine: live sessions, the agents that work in them, and every operation on sessions, once, for all clients.
