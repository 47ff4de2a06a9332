//! What tries did, from their branches in the log and their copies of the project.

use std::collections::BTreeMap;

use osier_protocol::EntryLine;
use osier_protocol::entry_view::{EntryContent, MessageView, ReplyBlockView};
use osier_protocol::explore::{ExploreReport, TryPlace, TryReport, TryStatus};
use osier_session::Session;
use osier_tree::entry::parse_entry;
use osier_tree::projection::preview::one_line;
use osier_tree::projection::usage::entry_usage;
use osier_tree::{EntryKind, Seq, SessionTree};
use rustc_hash::FxHashSet;
use serde::Deserialize;

use super::explore_folder::ExploreFolder;
use super::explore_record::TryEnd;
use super::try_run::WORDS_CHARS;
use super::{ExploreError, on_other_thread};
use crate::error::EngineError;
use crate::local_client::LocalClient;
use crate::reading::{EntryLines, read_lines};
use crate::subagents::followed_run::RunEnd;

/// The data of the entry that starts a try.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TryData {
    explore_id: String,
    r#try: u32,
    prompt: String,
    model: String,
    instructions: Option<String>,
    place: TryPlace,
}

/// A try in the log.
struct LoggedTry {
    marker: Seq,
    data: TryData,
    /// The entries of its branch, in log order.
    entries: Vec<Seq>,
}

impl LoggedTry {
    fn tip(&self) -> Seq {
        self.entries.last().copied().unwrap_or(self.marker)
    }
}

/// Whether a call runs the tests of a project.
pub(super) fn is_test(tool: &str, arguments: &serde_json::Value) -> bool {
    tool == "bash" && arguments["command"].as_str().is_some_and(is_test_command)
}

fn is_test_command(command: &str) -> bool {
    const RUNNERS: [&str; 24] = [
        "cargo test",
        "cargo nextest",
        "npm test",
        "npm run test",
        "npm t ",
        "pnpm test",
        "pnpm run test",
        "yarn test",
        "bun test",
        "deno test",
        "npx jest",
        "npx vitest",
        "pytest",
        "python -m unittest",
        "python3 -m unittest",
        "tox",
        "go test",
        "make test",
        "make check",
        "mvn test",
        "gradle test",
        "gradlew test",
        "ctest",
        "rspec",
    ];
    let words = format!("{} ", command.split_whitespace().collect::<Vec<_>>().join(" "));
    RUNNERS.iter().any(|runner| {
        let runner = format!("{} ", runner.trim_end());
        words.match_indices(&runner).any(|(at, _)| {
            let before = words[..at].chars().next_back();
            before.is_none_or(|before| !before.is_alphanumeric() && before != '-' && before != '_')
        })
    })
}

/// The entries of the branch that starts at a marker. A move into it ends it: what follows is the user's conversation.
fn branch_entries(tree: &SessionTree, marker: Seq) -> Vec<Seq> {
    let mut members: FxHashSet<Seq> = [marker].into_iter().collect();
    let mut entries = Vec::new();
    for (seq, head) in tree.heads().iter_from(marker.index() + 1) {
        if !head.parent.is_some_and(|parent| members.contains(&parent)) {
            continue;
        }
        match head.kind {
            EntryKind::Leaf => break,
            EntryKind::ExploreTry => continue,
            _ => {
                members.insert(seq);
                entries.push(seq);
            }
        }
    }
    entries
}

/// The entries that start tries.
async fn read_markers(session: &Session, tree: &SessionTree) -> Result<Vec<(Seq, TryData)>, EngineError> {
    let of_tries = tree.heads().iter().filter(|(_, head)| head.kind == EntryKind::ExploreTry);
    let markers: Vec<Seq> = of_tries.map(|(seq, _)| seq).collect();
    let lines = read_lines(session, &markers).await?;
    let data = |marker: Seq| {
        let value: serde_json::Value = serde_json::from_slice(lines.get(&marker)?).unwrap_or_default();
        Some((marker, serde_json::from_value(value["data"].clone()).unwrap_or_default()))
    };
    Ok(markers.into_iter().filter_map(data).collect())
}

impl LocalClient {
    /// The explores of this session, oldest first.
    pub(crate) async fn explores(&self) -> Result<Vec<ExploreReport>, EngineError> {
        self.read_explores(None).await
    }

    /// All explores of this session, or the one with this id.
    async fn read_explores(&self, only: Option<&str>) -> Result<Vec<ExploreReport>, EngineError> {
        let session = self.live().session();
        let tree = session.tree();
        let mut explores: Vec<(String, Vec<LoggedTry>)> = Vec::new();
        for (marker, data) in read_markers(session, &tree).await? {
            if only.is_some_and(|only| only != data.explore_id) {
                continue;
            }
            let entries = branch_entries(&tree, marker);
            let id = data.explore_id.clone();
            let logged = LoggedTry { marker, data, entries };
            match explores.iter_mut().find(|(other, _)| *other == id) {
                Some((_, tries)) => tries.push(logged),
                None => explores.push((id, vec![logged])),
            }
        }
        let mut reports = Vec::with_capacity(explores.len());
        for (id, tries) in explores {
            reports.push(match self.live().explores.report(&id) {
                Some(running) => running,
                None => self.stored_report(&tree, id, tries).await?,
            });
        }
        Ok(reports)
    }

    async fn stored_report(
        &self,
        tree: &SessionTree,
        id: String,
        mut tries: Vec<LoggedTry>,
    ) -> Result<ExploreReport, EngineError> {
        tries.sort_by_key(|one| one.data.r#try);
        let folder = self.explore_folder(&id);
        let first = tries.first().map(|one| (one.data.prompt.clone(), tree.head(one.marker).parent));
        let (prompt, start) = first.unwrap_or_default();
        let is_elsewhere = folder.as_ref().is_some_and(|(folder, _)| folder.is_locked());
        let mut reports = Vec::with_capacity(tries.len());
        for one in &tries {
            let lines = read_lines(self.live().session(), &one.entries).await?;
            let mut report = try_report(tree, one, &lines);
            let end = folder.as_ref().and_then(|(_, record)| record.ends.get(&report.number).cloned());
            if let Some(TryEnd { status, error }) = end {
                (report.status, report.error) = (status, error);
            }
            if is_elsewhere && report.status == TryStatus::Interrupted {
                report.status = TryStatus::Running;
            }
            reports.push(report);
        }
        let mut report = ExploreReport {
            id,
            prompt,
            start_id: start.map(|seq| tree.id(seq).to_entry_id()),
            tries: reports,
            ..ExploreReport::default()
        };
        if let Some((folder, record)) = folder {
            let base = folder.base(&self.spec().workspace.tool_context.env, &record);
            for one in &mut report.tries {
                one.files_changed = record.removed.get(&one.number).map_or(0, |removed| removed.count);
            }
            report.started_at = Some(record.created);
            let stored = folder.describe(record);
            (report.kept, report.unfinished_keep) = (stored.kept, stored.unfinished_keep);
            for one in &mut report.tries {
                one.folder = folder.try_folder(one.number).map(|path| path.display().to_string());
            }
            let numbers: Vec<u32> =
                report.tries.iter().filter(|one| one.folder.is_some()).map(|one| one.number).collect();
            if let Some(base) = base {
                let counts = on_other_thread(move || -> BTreeMap<u32, usize> {
                    let count = |number: u32| {
                        let changes =
                            base.base_tree().and_then(|start| base.changes(&start, &base.try_tree(number)?));
                        let counted = changes.map(|changes| (number, changes.len()));
                        counted.inspect_err(|error| tracing::warn!(%error, number, "cannot count the changed files of a try")).ok()
                    };
                    numbers.into_iter().filter_map(count).collect()
                });
                let counts = counts.await;
                for one in &mut report.tries {
                    one.files_changed = counts.get(&one.number).copied().unwrap_or(one.files_changed);
                }
            }
        }
        Ok(report)
    }

    /// The explore with this name; the latest one without a name.
    pub(super) async fn find_explore(&self, name: Option<&str>) -> Result<ExploreReport, EngineError> {
        let id = self.find_explore_id(name).await?;
        let found = self.read_explores(Some(&id)).await?.pop();
        Ok(found.ok_or_else(|| ExploreError::NotFound { name: name.map(str::to_owned) })?)
    }

    /// The id of the explore with this name; of the latest one without a name. Runs no git.
    pub(super) async fn find_explore_id(&self, name: Option<&str>) -> Result<String, EngineError> {
        let session = self.live().session();
        let mut ids: Vec<String> = Vec::new();
        for (_, data) in read_markers(session, &session.tree()).await? {
            if !ids.contains(&data.explore_id) {
                ids.push(data.explore_id);
            }
        }
        if let Some(name) = name {
            ids.retain(|id| !name.is_empty() && id.starts_with(name));
            if ids.len() > 1 {
                return Err(ExploreError::Ambiguous { name: name.to_owned(), count: ids.len() }.into());
            }
        }
        Ok(ids.pop().ok_or_else(|| ExploreError::NotFound { name: name.map(str::to_owned) })?)
    }

    /// The folder of an explore for an operation that changes it.
    pub(super) fn require_folder(&self, id: &str, number: u32) -> Result<ExploreFolder, ExploreError> {
        self.explore_folder(id).map(|(folder, _)| folder).ok_or(ExploreError::NoCopy { number })
    }
}

/// The status and the error of a try that ended like this.
pub(super) fn try_end(end: RunEnd) -> (TryStatus, Option<String>) {
    match end {
        RunEnd::Completed => (TryStatus::Completed, None),
        RunEnd::Cancelled => (TryStatus::Cancelled, None),
        RunEnd::Failed(problem) => (TryStatus::Failed, Some(one_line(&problem, WORDS_CHARS))),
    }
}

fn try_report(tree: &SessionTree, logged: &LoggedTry, lines: &EntryLines) -> TryReport {
    let data = &logged.data;
    let mut report = TryReport {
        number: data.r#try,
        model: data.model.clone(),
        instructions: data.instructions.clone(),
        place: data.place.clone(),
        tip_id: Some(tree.id(logged.tip()).to_entry_id()),
        ..TryReport::default()
    };
    let mut tests: Vec<String> = Vec::new();
    let mut end = (TryStatus::Interrupted, None);
    for line in logged.entries.iter().filter_map(|seq| lines.get(seq)) {
        if let Some(used) = parse_entry(line).ok().and_then(|entry| entry_usage(&entry)) {
            report.usage.add(&used.usage);
        }
        let line = EntryLine::from(line.as_slice());
        let Some(EntryContent::Message(message)) = line.view().map(|view| &view.content) else { continue };
        match message {
            MessageView::Assistant(reply) => {
                for block in &reply.blocks {
                    match block {
                        ReplyBlockView::Text(text) if !text.trim().is_empty() => {
                            report.last_words = one_line(text, WORDS_CHARS);
                        }
                        ReplyBlockView::Call(call) if is_test(&call.name, &call.arguments) => {
                            report.tests_run += 1;
                            tests.push(call.id.clone());
                        }
                        _ => {}
                    }
                }
                end = try_end(RunEnd::of_reply(reply));
            }
            MessageView::ToolResult(result) if result.is_error && tests.contains(&result.call_id) => {
                report.tests_failed += 1;
            }
            _ => {}
        }
    }
    (report.status, report.error) = match tree.awaits_response(Some(logged.tip())) {
        true if end.0 != TryStatus::Failed && end.0 != TryStatus::Cancelled => (TryStatus::Interrupted, None),
        _ => end,
    };
    report
}

#[cfg(test)]
mod tests {
    use super::is_test_command;

    #[test]
    fn test_commands_are_recognized_also_inside_longer_ones() {
        for command in [
            "cargo test",
            "cd a && cargo  test --workspace",
            "npm test",
            "python3 -m pytest -q",
            "make check",
        ] {
            assert!(is_test_command(command), "{command}");
        }
        for command in ["cargo build", "cat pytest.ini", "echo go testing", "ls contests", "my-pytest x"] {
            assert!(!is_test_command(command), "{command}");
        }
    }
}
