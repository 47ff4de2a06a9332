//! Response bodies that are written while they are sent. The writer runs only as fast as the client reads, so a session of any
//! size needs little memory.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use osier_engine::EngineError;

use crate::error::ApiError;

/// Where a writer puts the pieces of a body.
#[derive(Debug, Clone, Default)]
pub(crate) struct BodyWriter(Arc<Mutex<Vec<u8>>>);

impl BodyWriter {
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), EngineError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(())
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

type WriterFuture = Pin<Box<dyn Future<Output = Result<(), EngineError>> + Send>>;

/// Runs a writer and yields what it has written whenever it pauses.
struct BodyStream {
    written: BodyWriter,
    writer: Option<WriterFuture>,
}

impl Stream for BodyStream {
    type Item = Result<Bytes, EngineError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(writer) = &mut self.writer else { return Poll::Ready(None) };
        let polled = writer.as_mut().poll(context);
        let written = self.written.take();
        match polled {
            Poll::Ready(result) => {
                self.writer = None;
                match result {
                    // The connection breaks, so that the client does not take a part for the whole.
                    Err(error) => Poll::Ready(Some(Err(error))),
                    Ok(()) if written.is_empty() => Poll::Ready(None),
                    Ok(()) => Poll::Ready(Some(Ok(written.into()))),
                }
            }
            Poll::Pending if written.is_empty() => Poll::Pending,
            Poll::Pending => Poll::Ready(Some(Ok(written.into()))),
        }
    }
}

/// The response with the body that `start` writes. If it fails before its first piece, the response is that error.
pub(crate) async fn streamed<F>(
    content_type: &'static str,
    start: impl FnOnce(BodyWriter) -> F,
) -> Result<Response, ApiError>
where
    F: Future<Output = Result<(), EngineError>> + Send + 'static,
{
    let written = BodyWriter::default();
    let writer = Some(Box::pin(start(written.clone())) as WriterFuture);
    let mut stream = BodyStream { written, writer };
    let first = stream.next().await.transpose()?;
    let rest = stream.map(|piece| piece.inspect_err(|error| tracing::warn!(%error, "a response broke off")));
    let body = Body::from_stream(futures_util::stream::iter(first.map(Ok)).chain(rest));
    let mut response = body.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn body(response: Response) -> Result<String, axum::Error> {
        Ok(String::from_utf8(axum::body::to_bytes(response.into_body(), 1 << 20).await?.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn pieces_are_sent_when_the_writer_pauses() {
        let response = streamed("text/plain", |out| async move {
            for piece in ["a", "b", "c"] {
                out.write(piece.as_bytes())?;
                tokio::task::yield_now().await;
            }
            out.write(b"d")
        });
        let response = response.await.unwrap();
        let pieces: Vec<Bytes> = response.into_body().into_data_stream().map(Result::unwrap).collect().await;
        assert_eq!(pieces, ["a", "b", "c", "d"]);
    }

    #[tokio::test]
    async fn an_error_before_the_first_piece_is_the_response() {
        let response = streamed("text/plain", |_| async { Err(EngineError::NothingToFork) });
        assert_eq!(response.await.unwrap_err().status(), 409);
        let empty = streamed("text/plain", |_| async { Ok(()) });
        assert_eq!(body(empty.await.unwrap()).await.unwrap(), "");
    }

    #[tokio::test]
    async fn an_error_after_the_first_piece_breaks_the_body() {
        let response = streamed("text/plain", |out| async move {
            out.write(b"a")?;
            tokio::task::yield_now().await;
            Err(EngineError::KeepsChanging)
        });
        assert!(body(response.await.unwrap()).await.is_err());
    }
}
