//! Resolves paths that the model gives: relative to the project, with `~` expanded and all symbolic links followed, and tells
//! whether the result is outside the project. Kernel files, pipes and devices are refused without opening them.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::ToolContext;
use crate::folder::OpenFolder;
use crate::guarded::is_guarded;
use crate::matching;
use crate::outcome::ToolOutcome;

/// A resolved path of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedPath {
    /// The displayed path: relative if inside the project, otherwise absolute. Always the same for one file, whichever links
    /// were followed.
    pub(crate) display: String,
    /// The absolute path without links.
    pub(crate) real: PathBuf,
    /// The path relative to the project, if it is inside.
    relative: Option<PathBuf>,
    /// The given path, if it contains a link.
    pub(crate) link: Option<String>,
}

/// A file that a call would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TouchedPath {
    pub path: String,
    /// Outside the project, possibly through a symbolic link.
    pub outside: bool,
    /// Inside the project, but in a place whose files make other programs run something, such as `.git`.
    pub guarded: bool,
}

/// All files that a call would change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TouchedPaths {
    pub paths: Vec<TouchedPath>,
}

impl TouchedPaths {
    pub fn any_outside(&self) -> bool {
        self.paths.iter().any(|touched| touched.outside)
    }

    pub fn any_guarded(&self) -> bool {
        self.paths.iter().any(|touched| touched.guarded)
    }
}

const KERNEL_FOLDERS: &[&str] = &["/dev", "/proc", "/sys"];
/// The longest path that Linux allows, in bytes.
const MAX_PATH_BYTES: usize = 4095;
/// The most links that Linux follows.
const MAX_LINKS: usize = 40;

impl ResolvedPath {
    /// Resolves `given`. The file need not exist.
    pub(crate) fn resolve(ctx: &ToolContext, given: &str) -> Result<ResolvedPath, ToolOutcome> {
        if given.is_empty() || given.contains('\0') || given.len() > MAX_PATH_BYTES {
            return Err(ToolOutcome::failed(
                "`path` must be the name of a file or folder, such as src/main.rs",
            ));
        }
        let wanted = ctx.expand_path(given).ok_or_else(|| {
            ToolOutcome::failed("cannot expand `~`: the home folder is unknown; use an absolute path")
        })?;
        let real = resolve_links(&wanted).map_err(|error| {
            ToolOutcome::failed(format!("cannot resolve {}: {}", escape_name(given), io_error_text(&error)))
        })?;
        if let Some(confinement) = ctx.confinement.as_ref().filter(|confinement| !confinement.allows(&real)) {
            let (name, root) = (escape_name(given), escape_name(&confinement.root));
            return Err(ToolOutcome::failed(format!(
                "{name} is outside {root}, your own copy of the project, so tools cannot open it; use a path inside the copy"
            )));
        }
        if ctx.protected.is_closed(&real) {
            let name = escape_name(given);
            return Err(ToolOutcome::failed(format!("{name} belongs to Osier, so this call cannot open it")));
        }
        if let Some(kernel) = kernel_folder(&real) {
            let name = escape_name(given);
            return Err(ToolOutcome::failed(format!(
                "{name} is in {kernel}, which contains devices and kernel data; if you need it, use bash"
            )));
        }
        Ok(ResolvedPath::from_real_path(ctx, &wanted, real, given))
    }

    fn from_real_path(ctx: &ToolContext, wanted: &Path, real: PathBuf, given: &str) -> ResolvedPath {
        let root = resolve_links(&ctx.cwd).unwrap_or_else(|_| ctx.cwd.clone());
        let inside = real.strip_prefix(&root).ok();
        let name = match inside {
            Some(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Some(rest) => escape_name(rest),
            None => escape_name(&real),
        };
        // A link in the path of the project itself is not reported.
        let plain = resolve_lexically(wanted);
        let linked = plain != real && plain.strip_prefix(resolve_lexically(&ctx.cwd)).ok() != inside;
        ResolvedPath {
            display: name,
            relative: inside.map(Path::to_owned),
            link: linked.then(|| escape_name(given)),
            real,
        }
    }

    pub(crate) fn touched(&self) -> TouchedPath {
        let guarded = self.relative.as_ref().is_some_and(|inside| is_guarded(inside, &self.real));
        TouchedPath { path: self.display.clone(), outside: self.is_outside(), guarded }
    }

    fn is_outside(&self) -> bool {
        self.relative.is_none()
    }

    /// The details that every result about this file contains.
    pub(crate) fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        details.insert("path".to_owned(), json!(self.display));
        if self.is_outside() {
            details.insert("outside".to_owned(), json!(true));
        }
        if let Some(link) = &self.link {
            details.insert("link".to_owned(), json!(link));
        }
        details
    }

    /// A line for the model, if the path it used contains a link.
    pub(crate) fn link_note(&self) -> Option<String> {
        self.link
            .as_ref()
            .map(|link| format!("[{link} resolves through a symbolic link to {}]", self.display))
    }

    /// Opens a regular file for reading. Never blocks, whatever kind of file the path names.
    pub(crate) fn open(&self, doing: &str, ctx: &ToolContext) -> Result<(File, Metadata), ToolOutcome> {
        let found = fs::symlink_metadata(&self.real).map_err(|error| self.io_failure(doing, &error))?;
        self.require_regular_file(&found)?;
        let opened =
            OpenFolder::open_parent(&self.real, false).and_then(|(folder, name)| folder.open_file(&name));
        let opened = opened.and_then(|file| file.metadata().map(|metadata| (file, metadata)));
        let (file, metadata) = opened.map_err(|error| self.io_failure(doing, &error))?;
        self.require_regular_file(&metadata)?;
        if ctx.protected.key_files().contains(&metadata) {
            return Err(self.key_file_outcome());
        }
        Ok((file, metadata))
    }

    pub(crate) fn key_file_outcome(&self) -> ToolOutcome {
        ToolOutcome::failed(format!(
            "{} may contain keys, so tools cannot open it; ask the user for what you need from it",
            self.display
        ))
    }

    pub(crate) fn require_regular_file(&self, metadata: &Metadata) -> Result<(), ToolOutcome> {
        let kind = metadata.file_type();
        let name = &self.display;
        if kind.is_file() {
            return Ok(());
        }
        Err(ToolOutcome::failed(match () {
            () if kind.is_dir() => format!("{name} is a folder, not a file; use ls to list it"),
            () if kind.is_symlink() => format!("{name} was just replaced by a symbolic link; try again"),
            () if kind.is_fifo() => format!("{name} is a pipe, not a file"),
            () if kind.is_socket() => format!("{name} is a socket, not a file"),
            () => format!("{name} is a device, not a file"),
        }))
    }

    pub(crate) fn io_failure(&self, doing: &str, error: &io::Error) -> ToolOutcome {
        let mut text = format!("cannot {doing} {}: {}", self.display, io_error_text(error));
        if error.kind() == io::ErrorKind::NotFound {
            text.push_str(&self.suggestion());
        }
        ToolOutcome::failed(text)
    }

    /// A hint about what the model may have meant.
    fn suggestion(&self) -> String {
        let (Some(folder), Some(name)) = (self.real.parent(), self.real.file_name()) else {
            return String::new();
        };
        let Ok(entries) = fs::read_dir(folder) else {
            return format!(
                "; the folder {} does not exist either",
                escape_name(Path::new(&self.display).parent().unwrap_or(folder))
            );
        };
        let names: Vec<String> =
            entries.flatten().take(5000).map(|entry| escape_name(entry.file_name())).collect();
        match matching::nearest(&escape_name(name), names.iter().map(String::as_str)) {
            Some(near) => {
                format!("; did you mean {}?", escape_name(Path::new(&self.display).with_file_name(near)))
            }
            None => "; use find or ls to see what is there".to_owned(),
        }
    }
}

/// The folder of devices or kernel data that contains a link-free path. Reading there may block forever or reveal secrets.
pub(crate) fn kernel_folder(real: &Path) -> Option<&'static str> {
    KERNEL_FOLDERS.iter().copied().find(|kernel| real.starts_with(kernel))
}

/// Resolves all links. Unlike `canonicalize`, it accepts paths that do not exist, including dangling links.
pub(crate) fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    let mut todo: VecDeque<OsString> = path_components(path);
    let mut real = PathBuf::from("/");
    let mut hops = 0;
    while let Some(part) = todo.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        let is_link = fs::symlink_metadata(&next).is_ok_and(|found| found.file_type().is_symlink());
        if !is_link {
            real = next;
            continue;
        }
        hops += 1;
        if hops > MAX_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = fs::read_link(&next)?;
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in path_components(&target).into_iter().rev() {
            todo.push_front(part);
        }
    }
    Ok(real)
}

fn path_components(path: &Path) -> VecDeque<OsString> {
    let kept = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    kept.collect()
}

/// Resolves `..` in a path as if there were no links.
fn resolve_lexically(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for part in path_components(path) {
        if part == ".." {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

/// A name as a single safe line: control characters and invalid bytes are escaped.
pub(crate) fn escape_name(name: impl AsRef<OsStr>) -> String {
    let mut line = String::new();
    for chunk in name.as_ref().as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                c if c.is_control() || is_deceptive(c) => line.extend(c.escape_default()),
                c => line.push(c),
            }
        }
        for byte in chunk.invalid() {
            line.push_str(&format!("\\x{byte:02x}"));
        }
    }
    line
}

/// Characters that change the text direction or break lines, and so could disguise a name.
fn is_deceptive(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The message of an I/O error.
pub(crate) fn io_error_text(error: &io::Error) -> String {
    let text = match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder",
        io::ErrorKind::PermissionDenied => "permission denied",
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a folder",
        io::ErrorKind::IsADirectory => "it is a folder",
        io::ErrorKind::InvalidFilename => "the name is too long or invalid",
        _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => "its symbolic links form a loop",
        io::ErrorKind::StorageFull => "the disk is full",
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only",
        _ => return error.to_string(),
    };
    text.to_owned()
}
