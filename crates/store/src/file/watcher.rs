//! Watches a file with the notifications of the operating system.

use std::fmt;
use std::fs::File;
use std::path::Path;

use notify::{RecursiveMode, Watcher};
use tokio::sync::watch;

use crate::error::StoreError;
use crate::store::Watch;

/// Stops the watch when it is dropped.
struct WatchGuard {
    _watcher: notify::RecommendedWatcher,
    /// Locked while the watch exists.
    _in_use: Option<File>,
}

impl fmt::Debug for WatchGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keep")
    }
}

/// Watches the file's folder, because the file itself may be replaced.
pub(super) fn watch(path: &Path, in_use: Option<File>) -> Result<Watch, StoreError> {
    let (sender, receiver) = watch::channel(0);
    let name = path.file_name().map(ToOwned::to_owned);
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let on_event = move |event: notify::Result<notify::Event>| {
        let ours = |event: notify::Event| {
            !event.kind.is_access() && event.paths.iter().any(|path| path.file_name() == name.as_deref())
        };
        if let Err(error) = &event {
            tracing::debug!(%error, "the file watcher reported an error");
        }
        // An error may hide a change, so it counts as one.
        if event.map_or(true, ours) {
            sender.send_modify(|count| *count += 1);
        }
    };
    let watch_error = |error: notify::Error| StoreError::io("watch", path)(std::io::Error::other(error));
    let mut watcher = notify::recommended_watcher(on_event).map_err(watch_error)?;
    watcher.watch(&folder, RecursiveMode::NonRecursive).map_err(watch_error)?;
    Ok(Watch::new(receiver, Some(Box::new(WatchGuard { _watcher: watcher, _in_use: in_use }))))
}
