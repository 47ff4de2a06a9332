//! A planned change of one file, shared by `write` and `edit`.

use std::fs::Metadata;
use std::io::{self, Read};

use serde_json::json;

use crate::blocking::Result;
use crate::context::ToolContext;
use crate::diff::Diff;
use crate::filetext::{FileText, not_text};
use crate::outcome::ToolOutcome;
use crate::paths::{Place, Touches};
use crate::port::{Change, Preview};
use crate::save::save;
use crate::seal::{self, Seal};
use crate::seen::{Knowledge, Stamp};
use crate::size;

/// A file before the change.
#[derive(Debug)]
pub(super) struct Old {
    pub(super) bytes: Vec<u8>,
    metadata: Metadata,
}

impl Old {
    /// Reads the file. `None` if it does not exist. Refuses a file that is too large for a diff.
    pub(super) fn of(place: &Place, ctx: &ToolContext) -> Result<Option<Old>> {
        if ctx.closed.seals(&place.real) {
            return Err(ToolOutcome::failed(format!(
                "cannot change {}: it is in Osier's own folder, which tools cannot write to; ask the user to change it",
                place.shown
            )));
        }
        let gone = std::fs::symlink_metadata(&place.real)
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if gone {
            seal::check_old(ctx, place, None)?;
            return Ok(None);
        }
        let (file, metadata) = place.open("change", ctx)?;
        let most = ctx.limits.file_bytes as u64;
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes).map_err(|error| place.failure("change", &error))?;
        if bytes.len() as u64 > most {
            let text = format!("{} is larger than {}: change it with bash", place.shown, size::bytes(most));
            return Err(ToolOutcome::failed(text));
        }
        seal::check_old(ctx, place, Some(&bytes))?;
        Ok(Some(Old { bytes, metadata }))
    }

    pub(super) fn knowledge(&self, place: &Place, ctx: &ToolContext) -> Knowledge {
        ctx.files_read.about(&place.shown, &stamp(&self.metadata, &self.bytes))
    }
}

/// A planned change of one file.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) place: Place,
    pub(super) old: Option<Old>,
    pub(super) new: Vec<u8>,
    pub(super) diff: Diff,
}

impl Planned {
    pub(super) fn new(place: Place, old: Option<Old>, new: Vec<u8>) -> Planned {
        let diff = compare(&place.shown, old.as_ref().map(|old| &*old.bytes), &new);
        Planned { place, old, new, diff }
    }

    pub(super) fn preview(self) -> Preview {
        let touches = Touches { paths: vec![self.place.touched()] };
        let old = self.old.as_ref().map(|old| &*old.bytes);
        let seal = Some(Seal::new(&self.place, old, &self.new));
        let created = self.old.is_none();
        let change = Change::Diff { path: self.place.shown, diff: self.diff.text, created };
        Preview { touches, change, families: Vec::new(), seal }
    }

    /// Writes the file. `text` is the text of the outcome.
    pub(super) fn make(self, text: &str, ctx: &ToolContext) -> Result {
        seal::check_new(ctx, &self.place, &self.new)?;
        if self.old.as_ref().is_some_and(|old| ctx.keys.would_be_lost(&old.bytes, &self.new)) {
            let text = format!(
                "{} contains a key that is shown to you as `[key]`, and this change would overwrite it with `[key]`; leave \
                 that line unchanged: use edit for the other lines, or a command",
                self.place.shown
            );
            return Err(ToolOutcome::failed(text));
        }
        let old = self.old.as_ref().map(|old| &old.metadata);
        let saved = save(&self.place.real, &self.new, old, &ctx.artefacts);
        let metadata = saved.map_err(|error| self.place.failure("write", &error))?;
        let mut text = text.to_owned();
        text.extend(self.place.note().map(|note| format!("\n{note}")));
        let outcome = ToolOutcome::text(text)
            .with_all(self.place.details())
            .with("created", json!(self.old.is_none()))
            .with_all(self.diff.details())
            .with("stamp", json!(stamp(&metadata, &self.new)));
        Ok(outcome)
    }
}

fn stamp(metadata: &Metadata, bytes: &[u8]) -> Stamp {
    Stamp::new(metadata, Some(blake3::hash(bytes)))
}

/// A diff that shows every change. Leaves out CRs and the byte order mark if none of them changes.
fn compare(path: &str, old: Option<&[u8]>, new: &[u8]) -> Diff {
    if let Some(old) = old.filter(|old| not_text(old).is_some() && *old != new) {
        let mut diff = Diff::new(path, Some(""), &readable(new));
        let size = size::bytes(old.len() as u64);
        diff.text.push_str(&format!("[replaces {size} of binary content, which is not shown]\n"));
        return diff;
    }
    let keeps_form = old.is_some_and(|old| FileText::new(old).has_form_of(&FileText::new(new)));
    let text = |bytes: &[u8]| match keeps_form {
        true => readable(&FileText::new(bytes).plain),
        false => readable(bytes),
    };
    let mut diff = Diff::new(path, old.map(text).as_deref(), &text(new));
    if diff.text.is_empty() && old.is_some_and(|old| old != new) {
        diff.text = "[the changed bytes are not text and cannot be shown]\n".to_owned();
    }
    diff
}

/// Bytes as text. Invalid UTF-8 becomes codes such as `<0xE9>`.
fn readable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("<0x{byte:02X}>")));
    }
    text
}
