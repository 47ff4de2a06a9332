//! Runs work on files off the async threads, so that it can be stopped and a panic in it is only an outcome.

use crate::context::ToolContext;
use crate::outcome::ToolOutcome;

/// Either the outcome of a call, or the outcome of a call that did not work.
pub(crate) type Result<T = ToolOutcome> = std::result::Result<T, ToolOutcome>;

/// Work that only looks: abandoned at once when the call is cancelled or dropped. The work sees that in its own token.
pub(crate) async fn look<T: Send + 'static>(
    ctx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<T> + Send + 'static,
) -> Result<T> {
    let stop = ctx.cancel.child_token();
    let inner = ToolContext { cancel: stop.clone(), ..ctx.clone() };
    let _stopped_when_dropped = stop.drop_guard();
    let work = tokio::task::spawn_blocking(move || work(&inner));
    tokio::select! {
        biased;
        () = ctx.cancel.cancelled() => Err(ToolOutcome::cancelled()),
        done = work => finished(done),
    }
}

/// Work that changes files: not begun when cancelled, but never left half done, so that its outcome is the truth.
pub(crate) async fn change<T: Send + 'static>(
    ctx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<T> + Send + 'static,
) -> Result<T> {
    if ctx.cancel.is_cancelled() {
        return Err(ToolOutcome::cancelled());
    }
    let inner = ctx.clone();
    finished(tokio::task::spawn_blocking(move || work(&inner)).await)
}

fn finished<T>(done: std::result::Result<Result<T>, tokio::task::JoinError>) -> Result<T> {
    done.unwrap_or_else(|error| {
        let text = format!(
            "the tool itself broke down ({error}); try another way, and report this as a fault of Osier"
        );
        Err(ToolOutcome::failed(text))
    })
}
