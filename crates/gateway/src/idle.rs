//! Which requests of a connection are open. A connection without one ends after a while: an HTTP/2 client could otherwise keep it
//! open with pings.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::watch;
use tokio::time::timeout;

/// The number of open requests of one connection. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenRequests(watch::Sender<usize>);

impl OpenRequests {
    fn start(&self) -> OpenRequest {
        self.0.send_modify(|count| *count += 1);
        OpenRequest(self.clone())
    }

    /// Waits until no request has been open for this long.
    pub(crate) async fn wait_until_idle(&self, limit: Duration) {
        let mut count = self.0.subscribe();
        loop {
            // The sender is in `self`, so it never ends.
            let _ = count.wait_for(|count| *count == 0).await;
            if timeout(limit, count.changed()).await.is_err() {
                return;
            }
        }
    }
}

/// A request that is open until its response is sent.
#[derive(Debug)]
struct OpenRequest(OpenRequests);

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

/// Counts a request of a connection until its response is sent.
pub(crate) async fn count_request(
    Extension(requests): Extension<OpenRequests>,
    request: Request,
    next: Next,
) -> Response {
    let open = requests.start();
    next.run(request).await.map(|body| Body::new(CountedBody { body, _open: open }))
}

/// The body of a response.
struct CountedBody {
    body: Body,
    _open: OpenRequest,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_when_no_request_has_been_open_for_a_while() {
        let (requests, start) = (OpenRequests::default(), Instant::now());
        let first = requests.start();
        let open = requests.clone();
        tokio::spawn(async move {
            sleep(Duration::from_secs(100)).await;
            drop(first);
            sleep(Duration::from_secs(29)).await;
            drop(open.start());
        });
        requests.wait_until_idle(Duration::from_secs(30)).await;
        assert_eq!(start.elapsed().as_secs(), 100 + 29 + 30);
    }
}
