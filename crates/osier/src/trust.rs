//! Project trust. Until you trust its folder, a project cannot set servers, keys, commands, models or tools: with those, its
//! authors could read what you send and run commands.
//!
//! Trust covers exactly what the project requested at that time. If its requests change, it is no longer trusted.

pub(crate) mod command;
mod contents;
mod records;

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use osier_tools::visible_line;

use self::contents::FolderContents;
pub(crate) use self::records::{TrustRecords, replace_file};
use crate::home::Home;
use crate::layout::{sanitize_line, truncate};
use crate::out::notice;
use crate::settings::{ParsedSetting, Project, dotted_key};

/// The folders in `.osier` whose contents a model or this program would follow.
const TRUSTED_FOLDERS: [&str; 3] = ["extensions", "prompts", "skills"];

/// Limits of the list in the question; more may hide something, and the list says so.
const MAX_WIDTH: usize = 1000;
const MAX_ROWS: usize = 40;

/// One setting or folder that a project requests.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TrustItem {
    /// The key, or the folder.
    pub(crate) name: String,
    /// The complete request, which trust covers.
    content: String,
    /// For display, without secrets.
    pub(crate) display: String,
}

/// Omits the complete request, which may contain a secret.
impl std::fmt::Debug for TrustItem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.display)
    }
}

/// What a project requests that needs trust, and whether it is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrustRequest {
    pub(crate) root: PathBuf,
    pub(crate) items: Vec<TrustItem>,
    pub(crate) status: TrustStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustStatus {
    Trusted,
    /// Not decided yet.
    Unknown,
    /// The requests changed after the decision.
    Changed,
    Refused,
}

impl TrustRequest {
    /// `None` if the project requests nothing. `Err` contains the reason why it cannot be trusted.
    pub(crate) fn for_project(
        project: &Project,
        wanted: &[ParsedSetting],
        records: impl FnOnce() -> TrustRecords,
    ) -> Result<Option<TrustRequest>, String> {
        let wishes = trust_items(project, wanted)?;
        if wishes.is_empty() {
            return Ok(None);
        }
        let standing = records().status(&project.root, &wishes);
        Ok(Some(TrustRequest { root: project.root.clone(), items: wishes, status: standing }))
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.status == TrustStatus::Trusted
    }

    /// Stores the user's decision.
    fn store_decision(&self, yes: bool, home: &Home) -> Result<()> {
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
    let of_folder = |name: &&str| {
        let name = format!("{name}/");
        let folder = project.folder().join(name.trim_end_matches('/'));
        folder.is_dir().then(|| {
            let FolderContents { names, hash } = contents::hash_folder(&folder, &project.root)?;
            let shown = format!("{name} ({})", names.join(", "));
            Ok(TrustItem { content: format!("{name} {hash}"), display: shown, name })
        })
    };
    wanted.iter().map(|found| Ok(of_key(found))).chain(TRUSTED_FOLDERS.iter().filter_map(of_folder)).collect()
}

/// Prints a notice if requests of the project are ignored.
pub(crate) fn print_untrusted(home: &Home) {
    if let Some(text) = untrusted_notice(home) {
        notice(&format!("osier: {text}"));
    }
}

/// The notice that requests of the project are ignored, if any.
pub(crate) fn untrusted_notice(home: &Home) -> Option<String> {
    if let Some(objection) = home.ignored_project() {
        return Some(format!("ignored the .osier folder of this project: {}", sanitize_line(objection)));
    }
    let asked = home.trust_request.as_ref().filter(|asked| !asked.is_trusted())?;
    let names: Vec<&str> = asked.items.iter().map(|wish| wish.name.as_str()).collect();
    Some(format!(
        "{} is not trusted; ignored settings and folders in .osier: {}; run `osier trust` to review them",
        sanitize_line(&home.display_path(&asked.root)),
        sanitize_line(&truncate(&names.join(", "), 200)),
    ))
}

/// Asks once whether to trust the project. Without a terminal it only prints a notice.
pub(crate) fn ask_if_undecided(home: Home) -> Result<Home> {
    let is_open = |asked: &&TrustRequest| matches!(asked.status, TrustStatus::Unknown | TrustStatus::Changed);
    if home.ignored_project().is_some() {
        print_untrusted(&home);
    }
    let Some(asked) = home.trust_request.as_ref().filter(is_open) else { return Ok(home) };
    if !is_interactive() {
        print_untrusted(&home);
        return Ok(home);
    }
    match ask_user(asked, &home)? {
        None => Ok(home),
        Some(yes) => {
            asked.store_decision(yes, &home)?;
            home.reload()
        }
    }
}

fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks the question. `None` if there was no answer.
fn ask_user(asked: &TrustRequest, home: &Home) -> Result<Option<bool>> {
    let mut stderr = std::io::stderr();
    let since = match asked.status {
        TrustStatus::Changed => "has changed what it requests since you decided",
        _ => "requests settings that need your trust",
    };
    let question = format!(
        "{} {since}:\n{}Its authors could read what you send and run commands. Trust this project? [y/N] ",
        visible_line(&home.display_path(&asked.root)),
        format_items(&asked.items),
    );
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer)?;
    Ok((read > 0).then(|| matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")))
}

fn format_items(wishes: &[TrustItem]) -> String {
    let mut rows: Vec<String> = wishes
        .iter()
        .take(MAX_ROWS)
        .map(|wish| format!("  {}\n", truncate(&visible_line(&wish.display), MAX_WIDTH)))
        .collect();
    if wishes.len() > MAX_ROWS {
        rows.push(format!("  and {} more; review the file before you trust it\n", wishes.len() - MAX_ROWS));
    }
    rows.concat()
}

/// The project of a directory.
fn find_project(directory: &Path, home: &Home) -> Result<Project> {
    let shown = sanitize_line(&home.display_path(directory));
    Project::find(directory, &home.home_folders()).ok_or_else(|| {
        anyhow::anyhow!("{shown} is not in a project: neither it nor a parent folder contains .osier or .git")
    })
}
