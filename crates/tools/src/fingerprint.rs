//! The fingerprint of a previewed change: the file, and hashes of its old and new content. The preview returns it and the context
//! of the run passes it back, so that only the approved change is made.

use std::path::PathBuf;

use crate::blocking::Result;
use crate::context::ToolContext;
use crate::outcome::ToolOutcome;
use crate::paths::ResolvedPath;

/// The fingerprint of a previewed change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeFingerprint {
    real: PathBuf,
    /// The hash of the old content; `None` if the file did not exist.
    old: Option<blake3::Hash>,
    new: blake3::Hash,
}

impl ChangeFingerprint {
    pub(crate) fn new(resolved_path: &ResolvedPath, old: Option<&[u8]>, new: &[u8]) -> ChangeFingerprint {
        ChangeFingerprint {
            real: resolved_path.real.clone(),
            old: old.map(blake3::hash),
            new: blake3::hash(new),
        }
    }
}

/// Refuses the change if the path now names a different file or the file has different content than in the preview. Without a
/// fingerprint, everything is accepted.
pub(crate) fn check_old(ctx: &ToolContext, resolved_path: &ResolvedPath, old: Option<&[u8]>) -> Result<()> {
    let Some(fingerprint) = &ctx.approved else { return Ok(()) };
    let what = match () {
        () if fingerprint.real != resolved_path.real => {
            "resolves to a different file than when this call was approved"
        }
        () if fingerprint.old.is_some() && old.is_none() => "was deleted after this call was approved",
        () if fingerprint.old != old.map(blake3::hash) => {
            "has different content than when this call was approved"
        }
        () => return Ok(()),
    };
    Err(refused_outcome(resolved_path, what))
}

/// Refuses to write anything except the previewed content.
pub(crate) fn check_new(ctx: &ToolContext, resolved_path: &ResolvedPath, new: &[u8]) -> Result<()> {
    match &ctx.approved {
        Some(fingerprint) if fingerprint.new != blake3::hash(new) => {
            Err(refused_outcome(resolved_path, "would get different content than was approved"))
        }
        _ => Ok(()),
    }
}

fn refused_outcome(resolved_path: &ResolvedPath, what: &str) -> ToolOutcome {
    ToolOutcome::failed(format!(
        "nothing was changed: {} {what}. Read it again, then decide what to do",
        resolved_path.display
    ))
}
