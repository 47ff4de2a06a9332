//! What was shown when a call was approved, so that exactly this is done and nothing else: which file, what was in it, and
//! what will be. A preview gives it out, the context of the run brings it back, and who looks at it sees nothing.

use std::path::PathBuf;

use crate::blocking::Result;
use crate::context::ToolContext;
use crate::outcome::ToolOutcome;
use crate::paths::Place;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    real: PathBuf,
    /// Of the content; nothing if the file did not exist.
    old: Option<blake3::Hash>,
    new: blake3::Hash,
}

impl Seal {
    pub(crate) fn new(place: &Place, old: Option<&[u8]>, new: &[u8]) -> Seal {
        Seal { real: place.real.clone(), old: old.map(blake3::hash), new: blake3::hash(new) }
    }
}

/// Refuses a file that is another one, or has another content, than the one shown. Without a seal nothing was shown.
pub(crate) fn check_old(ctx: &ToolContext, place: &Place, old: Option<&[u8]>) -> Result<()> {
    let Some(seal) = &ctx.seal else { return Ok(()) };
    let what = match () {
        () if seal.real != place.real => "leads to another place than",
        () if seal.old.is_some() && old.is_none() => "is no longer there as",
        () if seal.old != old.map(blake3::hash) => "has another content than",
        () => return Ok(()),
    };
    Err(refused(place, what))
}

/// Refuses to write anything but what was shown.
pub(crate) fn check_new(ctx: &ToolContext, place: &Place, new: &[u8]) -> Result<()> {
    match &ctx.seal {
        Some(seal) if seal.new != blake3::hash(new) => Err(refused(place, "would become another one than")),
        _ => Ok(()),
    }
}

fn refused(place: &Place, what: &str) -> ToolOutcome {
    ToolOutcome::failed(format!(
        "nothing was changed: {} {what} when this call was approved; somebody changed it meanwhile. Read it again, then \
         decide what to do",
        place.shown
    ))
}
