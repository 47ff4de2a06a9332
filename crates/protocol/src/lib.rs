//! The client protocol: commands, queries, replies and events, in types that serialize both ways.
