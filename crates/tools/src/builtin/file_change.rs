//! A planned change of one file, shared by `write` and `edit`.

use std::fs::Metadata;
use std::io::{self, Read};

use serde_json::json;

use crate::blocking::Result;
use crate::context::ToolContext;
use crate::diff::Diff;
use crate::file_text::{FileText, non_text_reason};
use crate::files_read::{FileKnowledge, FileStamp};
use crate::fingerprint::{self, ChangeFingerprint};
use crate::outcome::ToolOutcome;
use crate::paths::{ResolvedPath, TouchedPaths};
use crate::save::save;
use crate::size;
use crate::tool::{Preview, ProposedChange};

/// A file before the change.
#[derive(Debug)]
pub(super) struct OldFile {
    pub(super) bytes: Vec<u8>,
    metadata: Metadata,
}

impl OldFile {
    /// Reads the file. `None` if it does not exist. Refuses a file that is too large for a diff.
    pub(super) fn read(resolved_path: &ResolvedPath, ctx: &ToolContext) -> Result<Option<OldFile>> {
        if ctx.protected.is_read_only(&resolved_path.real) {
            return Err(ToolOutcome::failed(format!(
                "cannot change {}: it is in Osier's own folder, which tools cannot write to; ask the user to change it",
                resolved_path.display
            )));
        }
        let gone = std::fs::symlink_metadata(&resolved_path.real)
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if gone {
            fingerprint::check_old(ctx, resolved_path, None)?;
            return Ok(None);
        }
        let (file, metadata) = resolved_path.open("change", ctx)?;
        let max_bytes = ctx.limits.file_bytes as u64;
        let mut bytes = Vec::new();
        file.take(max_bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| resolved_path.io_failure("change", &error))?;
        if bytes.len() as u64 > max_bytes {
            let text = format!(
                "{} is larger than {}: change it with bash",
                resolved_path.display,
                size::bytes(max_bytes)
            );
            return Err(ToolOutcome::failed(text));
        }
        fingerprint::check_old(ctx, resolved_path, Some(&bytes))?;
        Ok(Some(OldFile { bytes, metadata }))
    }

    pub(super) fn knowledge(&self, resolved_path: &ResolvedPath, ctx: &ToolContext) -> FileKnowledge {
        ctx.files_read.knowledge(&resolved_path.display, &stamp(&self.metadata, &self.bytes))
    }
}

/// A planned change of one file.
#[derive(Debug)]
pub(super) struct PlannedFileChange {
    pub(super) resolved_path: ResolvedPath,
    pub(super) old: Option<OldFile>,
    pub(super) new: Vec<u8>,
    pub(super) diff: Diff,
}

impl PlannedFileChange {
    pub(super) fn new(resolved_path: ResolvedPath, old: Option<OldFile>, new: Vec<u8>) -> PlannedFileChange {
        let diff = change_diff(&resolved_path.display, old.as_ref().map(|old| &*old.bytes), &new);
        PlannedFileChange { resolved_path, old, new, diff }
    }

    pub(super) fn preview(self) -> Preview {
        let touches = TouchedPaths { paths: vec![self.resolved_path.touched()] };
        let old = self.old.as_ref().map(|old| &*old.bytes);
        let fingerprint = Some(ChangeFingerprint::new(&self.resolved_path, old, &self.new));
        let created = self.old.is_none();
        let change = ProposedChange::Diff { path: self.resolved_path.display, diff: self.diff.text, created };
        Preview { touches, change, families: Vec::new(), fingerprint }
    }

    /// Writes the file. `text` is the text of the outcome.
    pub(super) fn apply(self, text: &str, ctx: &ToolContext) -> Result {
        fingerprint::check_new(ctx, &self.resolved_path, &self.new)?;
        if self.old.as_ref().is_some_and(|old| ctx.secrets.would_be_overwritten(&old.bytes, &self.new)) {
            let text = format!(
                "{} contains a key that is shown to you as `[key]`, and this change would overwrite it with `[key]`; leave \
                 that line unchanged: use edit for the other lines, or a command",
                self.resolved_path.display
            );
            return Err(ToolOutcome::failed(text));
        }
        let old = self.old.as_ref().map(|old| &old.metadata);
        let saved = save(&self.resolved_path.real, &self.new, old, &ctx.artifacts);
        let metadata = saved.map_err(|error| self.resolved_path.io_failure("write", &error))?;
        let mut text = text.to_owned();
        text.extend(self.resolved_path.link_note().map(|note| format!("\n{note}")));
        let outcome = ToolOutcome::text(text)
            .with_details(self.resolved_path.details())
            .with_detail("created", json!(self.old.is_none()))
            .with_details(self.diff.details())
            .with_detail("stamp", json!(stamp(&metadata, &self.new)));
        Ok(outcome)
    }
}

fn stamp(metadata: &Metadata, bytes: &[u8]) -> FileStamp {
    FileStamp::new(metadata, Some(blake3::hash(bytes)))
}

/// A diff that shows every change. Leaves out CRs and the byte order mark if none of them changes.
fn change_diff(path: &str, old: Option<&[u8]>, new: &[u8]) -> Diff {
    if let Some(old) = old.filter(|old| non_text_reason(old).is_some() && *old != new) {
        let mut diff = Diff::new(path, Some(""), &escape_invalid(new));
        let size = size::bytes(old.len() as u64);
        diff.text.push_str(&format!("[replaces {size} of binary content, which is not shown]\n"));
        return diff;
    }
    let keeps_form = old.is_some_and(|old| FileText::new(old).same_format_as(&FileText::new(new)));
    let text = |bytes: &[u8]| match keeps_form {
        true => escape_invalid(&FileText::new(bytes).plain),
        false => escape_invalid(bytes),
    };
    let mut diff = Diff::new(path, old.map(text).as_deref(), &text(new));
    if diff.text.is_empty() && old.is_some_and(|old| old != new) {
        diff.text = "[the changed bytes are not text and cannot be shown]\n".to_owned();
    }
    diff
}

/// Bytes as text. Invalid UTF-8 becomes codes such as `<0xE9>`.
fn escape_invalid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("<0x{byte:02X}>")));
    }
    text
}
