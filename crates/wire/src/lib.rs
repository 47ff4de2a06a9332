//! The client protocol between processes. Every frame is one JSON object: a line over pipes, a text message over WebSockets.
//!
//! The engine's side is [`serve`]; the client's side is [`RemoteEngine`], which implements the same trait as an engine in this
//! process. A connection carries any number of sessions. `docs/protocol.md` describes the frames.
//!
//! | file | contents |
//! |---|---|
//! | `frame.rs`, `decode.rs`, `schema.rs` | the frames; reading them without trusting them; their JSON schema |
//! | `transport.rs`, `lines.rs`, `websocket.rs`, `socket_sink.rs` | a pair of streams of frames; over pipes; over a WebSocket |
//! | `outbox.rs` | the queue of outgoing frames, with a bound on what is unread |
//! | `heartbeat.rs`, `position.rs` | whether the other side is still there; how far a stream has reported the log |
//! | `server.rs`, `server/` | an engine at one end of a connection: requests, streams of events |
//! | `remote.rs`, `remote/` | an engine at the other end: connecting again, requests, streams of events |

mod decode;
mod frame;
mod heartbeat;
mod lines;
mod outbox;
mod position;
mod remote;
mod schema;
mod server;
mod socket_sink;
mod transport;
mod websocket;

pub use decode::{decode_client_frame, decode_server_frame};
pub use frame::{ClientFrame, EventFrame, ServerFrame};
pub use lines::{LineReader, LineSplitter, line_writer};
pub use outbox::{Outbox, OutboxClosed};
pub use remote::{Connector, LinkStatus, LinkWatch, RemoteClient, RemoteEngine, RemoteOptions};
pub use schema::wire_schema;
pub use server::{HeldSessions, ServeOptions, serve};
pub use transport::{
    CountedStream, FrameWriter, IncomingFrame, MAX_CLIENT_FRAME, MAX_SERVER_FRAME, ReceivedBytes, Transport,
};
pub use websocket::{CloseReason, OutgoingMessage, SocketMessage, WebSocketConnector};
