//! Reading small text files that the user wrote. Sizes are bounded, the order is fixed, and a bad file is
//! never fatal.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use osier_tools::{read_regular, read_regular_if};

use crate::prompt_library::FileCheck;

/// Templates and skills are prompts; a longer file is a mistake.
pub(crate) const MAX_BYTES: u64 = 256 << 10;

/// How many names to read from one folder.
const MAX_NAMES: usize = 1000;

/// A problem with one file. Other files are not affected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    pub path: PathBuf,
    pub message: String,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}

/// The paths in a folder, sorted. A missing folder is empty, and a file stands for itself.
pub(crate) fn list_folder(folder: &Path) -> Vec<PathBuf> {
    if folder.is_file() {
        return vec![folder.to_owned()];
    }
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).take(MAX_NAMES).collect();
    paths.sort();
    paths
}

/// Reads a text file with a size limit, if the check allows it.
pub(crate) fn read_text(path: &Path, check: Option<&FileCheck>) -> Result<String, FileProblem> {
    let problem = |what: String| FileProblem { path: path.to_owned(), message: what };
    let bytes = match check {
        Some(check) => read_regular_if(path, MAX_BYTES, &**check),
        None => read_regular(path, MAX_BYTES),
    };
    let bytes = bytes.map_err(|error| problem(error.to_string()))?;
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(problem("not a text file".to_owned())),
    }
}
