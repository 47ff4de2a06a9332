//! Project trust. Until you trust its folder, a project cannot set servers, keys, commands, models or tools: with those, its
//! authors could read what you send and run commands.
//!
//! Trust covers exactly what the project requested at that time. If its requests change, it is no longer trusted.

mod contents;
mod records;

use std::path::{Path, PathBuf};

use osier_tree::projection::preview::sanitize_line;

use self::contents::FolderContents;
pub use self::records::{TrustRecords, replace_file, update_records};
use crate::error::SettingsError;
use crate::home::Home;
use crate::settings::{ParsedSetting, Project, dotted_key};

/// The folders in `.osier` whose contents a model or this program would follow.
const TRUSTED_FOLDERS: [&str; 4] = ["agents", "extensions", "prompts", "skills"];

/// The agent files of Claude Code, relative to the project.
pub(crate) const CLAUDE_AGENTS: &str = ".claude/agents";

/// One setting or folder that a project requests.
#[derive(Clone, PartialEq, Eq)]
pub struct TrustItem {
    /// The key, or the folder.
    pub name: String,
    /// The complete request, which trust covers.
    content: String,
    /// For display, without secrets.
    pub display: String,
}

/// Omits the complete request, which may contain a secret.
impl std::fmt::Debug for TrustItem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.display)
    }
}

/// What a project requests that needs trust, and whether it is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRequest {
    pub root: PathBuf,
    pub items: Vec<TrustItem>,
    pub status: TrustStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustStatus {
    Trusted,
    /// Not decided yet.
    Unknown,
    /// The requests changed after the decision.
    Changed,
    Refused,
}

impl TrustRequest {
    /// `None` if the project requests nothing. `Err` contains the reason why it cannot be trusted.
    pub fn for_project(
        project: &Project,
        wanted: &[ParsedSetting],
        records: impl FnOnce() -> TrustRecords,
    ) -> Result<Option<TrustRequest>, String> {
        let wishes = trust_items(project, wanted)?;
        if wishes.is_empty() {
            return Ok(None);
        }
        let status = records().status(&project.root, &wishes);
        Ok(Some(TrustRequest { root: project.root.clone(), items: wishes, status }))
    }

    pub fn is_trusted(&self) -> bool {
        self.status == TrustStatus::Trusted
    }

    /// Stores the user's decision.
    pub fn store_decision(&self, yes: bool, home: &Home) -> Result<(), SettingsError> {
        records::update_records(&home.folder, |records| records.set(&self.root, &self.items, yes))?
    }
}

fn trust_items(project: &Project, wanted: &[ParsedSetting]) -> Result<Vec<TrustItem>, String> {
    let of_key = |found: &ParsedSetting| {
        let name = dotted_key(&found.path);
        let whole = format!("{name} = {}", found.value);
        // Show commands in full, so that the user can judge them; hide header values, which may be secrets.
        let shown = match found.path.get(2).map(String::as_str) {
            Some("headers") => format!("{name} = (set)"),
            Some("url") => {
                let url = found.value.as_str().unwrap_or_default();
                format!("{name} = {:?}", osier_store_mysql::without_password(url))
            }
            _ => whole.clone(),
        };
        TrustItem { name, content: whole, display: shown }
    };
    let of_folder = |(name, folder): (&str, PathBuf)| {
        let name = format!("{name}/");
        folder.is_dir().then(|| {
            let FolderContents { names, hash } = contents::hash_folder(&folder, &project.root)?;
            let shown = format!("{name} ({})", names.join(", "));
            Ok(TrustItem { content: format!("{name} {hash}"), display: shown, name })
        })
    };
    let folders = TRUSTED_FOLDERS.iter().map(|name| (*name, project.folder().join(name)));
    let folders = folders.chain([(CLAUDE_AGENTS, project.root.join(CLAUDE_AGENTS))]);
    wanted.iter().map(|found| Ok(of_key(found))).chain(folders.filter_map(of_folder)).collect()
}

/// The project of a directory.
pub fn find_project(directory: &Path, home: &Home) -> Result<Project, SettingsError> {
    Project::find(directory, &home.home_folders()).ok_or_else(|| {
        SettingsError::Invalid(format!(
            "{} is not in a project: neither it nor a parent folder contains .osier or .git",
            sanitize_line(&home.display_path(directory))
        ))
    })
}
