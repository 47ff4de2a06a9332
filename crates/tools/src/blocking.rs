//! Runs file operations on blocking threads, so that calls can be canceled and a panic becomes a failed outcome.

use crate::context::ToolContext;
use crate::outcome::ToolOutcome;

/// A value, or the outcome of a failed call.
pub(crate) type Result<T = ToolOutcome> = std::result::Result<T, ToolOutcome>;

/// Runs work that only reads. When the call is canceled or dropped, this returns at once and the work sees a canceled token.
pub(crate) async fn run_read<T: Send + 'static>(
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
        done = work => join_result(done),
    }
}

/// Runs work that changes files. It does not start if the call is already canceled, but once started it always finishes, so
/// that the outcome is accurate.
pub(crate) async fn run_write<T: Send + 'static>(
    ctx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<T> + Send + 'static,
) -> Result<T> {
    if ctx.cancel.is_cancelled() {
        return Err(ToolOutcome::cancelled());
    }
    let inner = ctx.clone();
    join_result(tokio::task::spawn_blocking(move || work(&inner)).await)
}

fn join_result<T>(done: std::result::Result<Result<T>, tokio::task::JoinError>) -> Result<T> {
    done.unwrap_or_else(|error| {
        let text = format!(
            "internal error in the tool ({error}); try another way, and ask the user to report this bug in Osier"
        );
        Err(ToolOutcome::failed(text))
    })
}
