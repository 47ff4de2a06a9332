//! Reading small text files of the user's: bounded, in a fixed order, and never fatal.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Templates and skills are texts for a model; longer files are a mistake.
pub(crate) const MOST: u64 = 256 << 10;

/// Names looked at in one folder.
const NAMES: usize = 1000;

/// What is wrong with a file. Nothing else suffers from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub path: PathBuf,
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}

/// The paths in a folder, by name. A folder that is not there has none.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).take(NAMES).collect();
    paths.sort();
    paths
}

/// The text of a file that is not too long.
pub(crate) fn read(path: &Path) -> Result<String, Problem> {
    let problem = |what: String| Problem { path: path.to_owned(), what };
    let mut bytes = Vec::new();
    let read = |bytes: &mut Vec<u8>| -> io::Result<()> {
        // A pipe would wait for ever.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("is not a file"));
        }
        File::open(path)?.take(MOST + 1).read_to_end(bytes)?;
        Ok(())
    };
    read(&mut bytes).map_err(|error| problem(error.to_string()))?;
    if bytes.len() as u64 > MOST {
        return Err(problem(format!("is longer than {} KB", MOST >> 10)));
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(problem("is not text".to_owned())),
    }
}
