//! One search at a time in each open session. A search reads the whole log, and a client that types asks anew with each key.

use std::sync::{Arc, Mutex, PoisonError};

use osier_protocol::{ClientError, ErrorCode};
use tokio_util::sync::CancellationToken;

/// See the module documentation. Clones share the search.
#[derive(Debug, Clone, Default)]
pub(super) struct LatestSearch(Arc<Mutex<CancellationToken>>);

impl LatestSearch {
    /// Runs a search until another one begins.
    pub(super) async fn run<T>(
        &self,
        search: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        let replaced = CancellationToken::new();
        let previous =
            std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), replaced.clone());
        previous.cancel();
        let canceled =
            || ClientError::new(ErrorCode::Cancelled, "another search in this session replaced this one");
        replaced.run_until_cancelled(search).await.unwrap_or_else(|| Err(canceled()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_search_ends_when_another_one_begins() {
        let searches = LatestSearch::default();
        let (first, second) =
            tokio::join!(searches.run(pending::<Result<u8, _>>()), searches.run(ready(Ok(2))));
        assert_eq!(first.unwrap_err().code, ErrorCode::Cancelled);
        assert_eq!(second.unwrap(), 2);
        assert_eq!(searches.run(ready(Ok(3))).await.unwrap(), 3);
    }

    #[tokio::test]
    async fn searches_in_other_sessions_do_not_end_it() {
        let (one, other) = (LatestSearch::default(), LatestSearch::default());
        let both = async { tokio::join!(one.run(pending::<Result<u8, _>>()), other.run(ready(Ok(2)))) };
        assert!(both.now_or_never().is_none());
    }
}
