//! The server as a program drives it.

mod events;
mod framing;
mod support;
