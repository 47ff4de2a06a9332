//! Taking part in a request over HTTP.

use std::fmt::Debug;

use futures_util::future::BoxFuture;

/// Names and values.
pub type RequestHeaders = Vec<(String, String)>;

/// Sees a request and its response. A retried request is seen again.
pub trait RequestObserver: Send + Sync + Debug {
    /// The headers of a request, without those that contain a key. Returns the headers to send instead.
    fn edit_headers(&self, headers: RequestHeaders) -> BoxFuture<'_, RequestHeaders>;

    /// The response has started.
    fn response_started(&self, status: u16, headers: RequestHeaders);

    /// Whether to call `stream_event`. It is asked once per request.
    fn wants_stream_events(&self) -> bool;

    /// An event of the response as the server sent it. The reply goes on when this returns.
    fn stream_event(&self, data: String) -> BoxFuture<'_, ()>;
}
