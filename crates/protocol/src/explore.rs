//! Exploring: one prompt tried several times at once, each on its own branch and in its own copy of the project.

use osier_tree::projection::compare::Comparison;
use osier_tree::projection::preview::sanitize;
use osier_tree::projection::usage::{UsageTotals, format_cost, format_tokens};
use osier_tree::{EntryId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::prompt::Prompt;
use crate::session_ref::SessionRef;

/// What to do with tries. An explore is named by its id or a prefix of it; without a name, it is the latest one of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ExploreCommand {
    /// Starts tries of one prompt at the current position. Replies when they have started; events report the rest.
    Start {
        #[serde(flatten)]
        prompt: Prompt,
        /// One for each try.
        tries: Vec<TryOptions>,
    },
    /// Stops one try, or all that run.
    Cancel {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        explore: Option<String>,
        #[serde(default, rename = "try", skip_serializing_if = "Option::is_none")]
        number: Option<u32>,
    },
    /// Moves to the end of a try and merges its changes into the working directory. If anything conflicts, nothing changes.
    Keep {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        explore: Option<String>,
        #[serde(rename = "try")]
        number: u32,
    },
    /// Removes the copy of one try, or those of all. The branches stay.
    Remove {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        explore: Option<String>,
        #[serde(default, rename = "try", skip_serializing_if = "Option::is_none")]
        number: Option<u32>,
        /// Also if a try was kept only in part. What is in the working directory stays as it is.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// Lets a model rank the tries and give reasons.
    Rank {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        explore: Option<String>,
    },
}

/// How one try differs from the others.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TryOptions {
    /// A model name as the user writes it; by default, the current model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Text that follows the prompt in this try only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// The reply to an [`ExploreCommand`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum ExploreReply {
    Started(ExploreReport),
    Done,
    Kept(KeptTry),
    Ranked(TryRanking),
}

/// The tries of one prompt as they are now.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExploreReport {
    pub id: String,
    /// The prompt in one line.
    pub prompt: String,
    /// Where the tries start; `None` is before the first entry.
    pub start_id: Option<EntryId>,
    /// When it started, in milliseconds since 1970, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    pub tries: Vec<TryReport>,
    /// The try that was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<u32>,
    /// The try whose changes were only partly merged when the process died. Keeping it again finishes that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished_keep: Option<u32>,
}

impl ExploreReport {
    pub fn is_running(&self) -> bool {
        self.tries.iter().any(|one| one.status == TryStatus::Running)
    }
}

/// One try.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TryReport {
    /// Counted from 1.
    #[serde(rename = "try")]
    pub number: u32,
    pub status: TryStatus,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The full name of its model.
    pub model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    pub place: TryPlace,
    /// The copy of the project, if it still exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The last entry of its branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip_id: Option<EntryId>,
    pub files_changed: usize,
    /// Commands that run tests, and how many of them failed.
    pub tests_run: usize,
    pub tests_failed: usize,
    pub usage: UsageTotals,
    /// What the agent does now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// The last text of the agent, in one line.
    pub last_words: String,
}

/// The state of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TryStatus {
    Running,
    Completed,
    Failed,
    Cancelled,
    /// The process died while it ran.
    #[default]
    Interrupted,
}

impl TryStatus {
    pub fn name(self) -> &'static str {
        match self {
            TryStatus::Running => "running",
            TryStatus::Completed => "completed",
            TryStatus::Failed => "failed",
            TryStatus::Cancelled => "canceled",
            TryStatus::Interrupted => "interrupted",
        }
    }
}

/// Where a try works.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TryPlace {
    /// A work tree with its own repository.
    Worktree,
    /// A copy of a project without git.
    Copy,
    /// In the project itself, without tools that change it.
    ReadOnly {
        #[serde(default)]
        reason: String,
    },
    #[default]
    Unknown,
}

impl TryPlace {
    pub fn name(&self) -> &'static str {
        match self {
            TryPlace::Worktree => "worktree",
            TryPlace::Copy => "copy",
            TryPlace::ReadOnly { .. } => "read-only",
            TryPlace::Unknown => "",
        }
    }
}

/// What keeping a try did.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KeptTry {
    pub explore: String,
    #[serde(rename = "try")]
    pub number: u32,
    /// False if changes conflict, or a hook refused. Then nothing changed.
    pub kept: bool,
    /// The new leaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<EntryId>,
    /// The try that was kept before. Its changes were taken back first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<u32>,
    /// The files in the working directory that changed.
    pub files: Vec<FileChange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<MergeConflict>,
}

/// A changed file, relative to the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    pub path: String,
    pub change: FileChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    Added,
    Changed,
    Deleted,
}

impl FileChangeKind {
    /// One letter, as git prints it.
    pub fn letter(self) -> char {
        match self {
            FileChangeKind::Added => 'A',
            FileChangeKind::Changed => 'M',
            FileChangeKind::Deleted => 'D',
        }
    }
}

/// A file that both the try and the user changed in ways that do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergeConflict {
    pub path: String,
    pub reason: String,
}

/// The ranking of tries by a model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TryRanking {
    pub explore: String,
    /// The model that ranked.
    pub model: String,
    /// The numbers of the tries, the best first. Empty if the model named none.
    pub order: Vec<u32>,
    /// What the model wrote, with its reasons.
    pub text: String,
}

/// Two tries side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TryComparison {
    pub explore: String,
    pub left: TryReport,
    pub right: TryReport,
    /// The conversations.
    pub conversation: Comparison,
    /// The files that each try changed.
    pub left_files: Vec<FileChange>,
    pub right_files: Vec<FileChange>,
    /// The difference between the files of the two tries, as a patch. `None` if a copy no longer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

impl TryComparison {
    /// What there is to say about the difference between the files, if it is not a patch.
    pub fn diff_note(&self) -> Option<&'static str> {
        match self.diff.as_deref() {
            Some("") if self.left_files.is_empty() => Some("Neither try changed a file."),
            Some("") => Some("The files of both tries are equal."),
            Some(_) => None,
            None if matches!(self.left.place, TryPlace::ReadOnly { .. }) => Some("The tries only read."),
            None => Some("The copies were removed, so the files cannot be compared."),
        }
    }
}

/// An explore of any session, with its copies of the project.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StoredExplore {
    pub id: String,
    pub session: SessionRef,
    pub session_id: SessionId,
    /// The working directory of the session.
    pub cwd: String,
    pub prompt: String,
    /// When it started, in milliseconds since 1970.
    pub created: i64,
    /// The folder with the copies.
    pub folder: String,
    /// How many tries were started.
    pub tries: u32,
    /// The numbers of the tries whose copies exist.
    pub copies: Vec<u32>,
    /// A process works in it now.
    pub running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished_keep: Option<u32>,
}

impl StoredExplore {
    /// Whether its folder has copies of the project, now or soon.
    pub fn has_copies(&self) -> bool {
        self.running || !self.copies.is_empty()
    }
}

/// The columns of [`ExploreReport::rows`].
pub const TABLE_HEAD: [&str; 8] =
    ["try", "status", "files", "tests", "tokens", "cost", "model", "last words"];

impl ExploreReport {
    /// The tries as rows of a table, in the order of [`TABLE_HEAD`].
    pub fn rows(&self) -> Vec<[String; 8]> {
        self.tries.iter().map(|one| one.row(self.kept == Some(one.number))).collect()
    }

    /// The numbers of the tries that completed or changed files.
    pub fn useful_tries(&self) -> Vec<u32> {
        let is_useful = |one: &&TryReport| one.status == TryStatus::Completed || one.files_changed > 0;
        self.tries.iter().filter(is_useful).map(|one| one.number).collect()
    }

    /// Where the tries work, in a few words.
    pub fn place_note(&self) -> String {
        let has_copies = self.tries.iter().any(|one| one.folder.is_some());
        match self.tries.first().map(|one| &one.place) {
            Some(TryPlace::Worktree | TryPlace::Copy) if !has_copies => "the copies were removed".to_owned(),
            Some(TryPlace::Worktree) => "each in its own worktree".to_owned(),
            Some(TryPlace::Copy) => "each in its own copy of the directory".to_owned(),
            Some(TryPlace::ReadOnly { reason }) => format!("read-only: {reason}"),
            Some(TryPlace::Unknown) | None => String::new(),
        }
    }
}

impl TryReport {
    fn row(&self, is_kept: bool) -> [String; 8] {
        let tests = match (self.tests_run, self.tests_failed) {
            (0, _) => "-".to_owned(),
            (run, 0) => format!("{run} ok"),
            (run, failed) => format!("{failed} of {run} failed"),
        };
        let words = self.error.as_ref().or(self.activity.as_ref()).unwrap_or(&self.last_words);
        [
            self.number.to_string(),
            if is_kept { "kept".to_owned() } else { self.status.name().to_owned() },
            self.files_changed.to_string(),
            tests,
            format_tokens(self.usage.total_tokens),
            format_cost(self.usage.cost),
            self.model.clone(),
            sanitize(words.trim().lines().next().unwrap_or_default()).into_owned(),
        ]
    }
}

impl KeptTry {
    /// What happened, as lines for people.
    pub fn lines(&self) -> Vec<String> {
        let number = self.number;
        if !self.conflicts.is_empty() {
            let head = format!("Try {number} conflicts with your changes; nothing changed:");
            let conflict = |conflict: &MergeConflict| format!("  {}  {}", conflict.path, conflict.reason);
            let next =
                "Undo your changes to these files, or take them from the copy of the try by hand".to_owned();
            let next = next + &format!("; then keep try {number} again");
            return [head].into_iter().chain(self.conflicts.iter().map(conflict)).chain([next]).collect();
        }
        if !self.kept {
            return vec![format!("An extension refused to keep try {number}; nothing changed")];
        }
        let kept = match self.instead_of {
            Some(earlier) => format!("Kept try {number} instead of try {earlier}"),
            None => format!("Kept try {number}"),
        };
        let head = match self.files.len() {
            0 => format!("{kept}; no file changed"),
            1 => format!("{kept}; 1 file changed:"),
            files => format!("{kept}; {files} files changed:"),
        };
        let file = |file: &FileChange| format!("  {} {}", file.change.letter(), file.path);
        [head].into_iter().chain(self.files.iter().map(file)).collect()
    }
}

/// The options of tries: `count` of them, which use these models and instructions in turn.
pub fn try_options(count: usize, models: &[String], instructions: &[String]) -> Vec<TryOptions> {
    let pick = |texts: &[String], at: usize| match texts.len() {
        0 => None,
        count => texts.get(at % count).cloned(),
    };
    (0..count)
        .map(|at| TryOptions { model: pick(models, at), instructions: pick(instructions, at) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_says_so_if_there_is_no_difference() {
        let one = |place: TryPlace| TryReport { place, ..TryReport::default() };
        let file = FileChange { path: "a".to_owned(), change: FileChangeKind::Added };
        let note = |diff: Option<&str>, files: &[FileChange], place: TryPlace| {
            let comparison = TryComparison {
                explore: String::new(),
                left: one(place.clone()),
                right: one(place),
                conversation: Comparison::default(),
                left_files: files.to_vec(),
                right_files: files.to_vec(),
                diff: diff.map(str::to_owned),
            };
            comparison.diff_note()
        };
        let files = [file];
        assert_eq!(note(Some("+x"), &files, TryPlace::Worktree), None);
        assert_eq!(note(Some(""), &files, TryPlace::Worktree), Some("The files of both tries are equal."));
        assert_eq!(note(Some(""), &[], TryPlace::Worktree), Some("Neither try changed a file."));
        assert!(note(None, &files, TryPlace::Worktree).is_some_and(|note| note.contains("removed")));
        let read_only = TryPlace::ReadOnly { reason: String::new() };
        assert_eq!(note(None, &[], read_only), Some("The tries only read."));
    }

    #[test]
    fn models_and_instructions_are_used_in_turn() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let tries = try_options(3, &texts(&["a", "b"]), &[]);
        let models: Vec<_> = tries.iter().map(|one| one.model.as_deref()).collect();
        assert_eq!(models, [Some("a"), Some("b"), Some("a")]);
        assert!(tries.iter().all(|one| one.instructions.is_none()));
    }

    #[test]
    fn a_command_is_one_flat_object() {
        let json =
            serde_json::json!({ "action": "start", "text": "fix it", "tries": [{}, { "model": "m" }] });
        let command: ExploreCommand = serde_json::from_value(json).unwrap();
        let ExploreCommand::Start { prompt, tries } = &command else { panic!("{command:?}") };
        assert_eq!((prompt.text.as_str(), tries.len()), ("fix it", 2));
        let again: ExploreCommand = serde_json::from_value(serde_json::to_value(&command).unwrap()).unwrap();
        assert_eq!(again, command);
    }
}
