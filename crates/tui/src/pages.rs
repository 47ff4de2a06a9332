//! Longer texts: information about a session, its usage, branch comparisons, and notices about moves and session switches.

use osier_protocol::compare::{Comparison, ComparisonSide};
use osier_protocol::explore::{ExploreReport, FileChange, TryComparison, TryReport};
use osier_protocol::query::{AgentDescription, CompactionDetails};
use osier_protocol::subagents::{SubagentProjection, TaskPanel};
use osier_protocol::usage::{UsageReport, UsageTotals, format_cost, format_tokens};
use osier_protocol::{Card, MoveReason, one_line, without_file_lists};

use crate::clock::LocalClock;
use crate::code::{CodeColors, code_lines};
use crate::diff::{DiffCode, diff_lines};
use crate::msg::{SessionSwitch, SwitchKind};
use crate::text::{Line, Style, hard_wrap, sanitize, width, wrap};
use crate::theme::ColorRole;
use crate::transcript::{RenderOptions, explore_lines};

/// From this width on, content is shown side by side instead of one below the other.
const MIN_SIDE_BY_SIDE_COLUMNS: usize = 72;

/// Information about the session.
pub(crate) fn session_lines(card: &Card, clock: LocalClock, columns: usize) -> Vec<Line> {
    let rows = [
        ("id", card.id.clone()),
        ("name", card.name.clone().unwrap_or_default()),
        ("file", card.file.clone().unwrap_or_default()),
        ("store", card.store.clone()),
        ("created", clock.format_full(card.created)),
        ("entries", format!("{} ({})", card.entry_count, count(card.message_count, "message"))),
        ("branches", card.branches.to_string()),
        (
            if card.is_subagent() { "task of" } else { "forked from" },
            card.parent_session_id.clone().unwrap_or_default(),
        ),
    ];
    let mut lines = vec![Line::styled(Style::from(ColorRole::Accent).bold(), "Session")];
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let beside = Line::styled(ColorRole::Dim, &format!("  {name:<12}")).with(ColorRole::Text, value);
        if beside.width() <= columns {
            lines.push(beside);
            continue;
        }
        lines.push(Line::styled(ColorRole::Dim, &format!("  {name}")));
        let value = hard_wrap(&Line::styled(ColorRole::Text, value), columns.saturating_sub(4).max(1));
        lines.extend(value.into_iter().map(|line| line.prepend(ColorRole::Text, "    ")));
    }
    lines.push(Line::new());
    lines
}

fn count(number: u64, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// Usage of the session, the current path, each model and each branch.
pub(crate) fn usage_lines(report: &UsageReport, columns: usize) -> Vec<Line> {
    let mut lines = vec![Line::styled(Style::from(ColorRole::Accent).bold(), "Usage")];
    let mut row = |name: &str, usage: &UsageTotals| {
        let (tokens, cost) = (format_tokens(usage.total_tokens), format_cost(usage.cost));
        let requests = usage.requests;
        if columns < MIN_SIDE_BY_SIDE_COLUMNS {
            lines.push(Line::styled(ColorRole::Text, &format!("  {name}")).truncate(columns));
            let usage = format!("    {tokens} tokens · {} · {cost}", count(requests, "request"));
            lines.push(Line::styled(ColorRole::Dim, &usage).truncate(columns));
            return;
        }
        let word = if requests == 1 { "request" } else { "requests" };
        let usage = format!("{tokens:>9} tokens  {requests:>4} {word:<8}  {cost}");
        let name =
            Line::styled(ColorRole::Text, &format!("  {:<NAME_COLUMNS$}", one_line(name, NAME_COLUMNS)));
        lines.push(name.with(ColorRole::Dim, &usage).truncate(columns));
    };
    row("session", &report.session);
    row("current path", &report.path);
    if !report.subagents.is_unused() {
        row("sub-agents", &report.subagents);
    }
    for model in &report.models {
        row(&format!("model {}", model.model.as_deref().unwrap_or("unknown")), &model.usage);
    }
    for branch in &report.branches {
        let active = if branch.active { " (current)" } else { "" };
        let title = match branch.title.as_str() {
            "" => format!("branch to {}", branch.tip),
            title => format!("branch {title}"),
        };
        row(&(one_line(&title, NAME_COLUMNS.saturating_sub(active.len())) + active), &branch.usage);
    }
    lines
}

/// The columns of the first column of the usage table.
const NAME_COLUMNS: usize = 28;

/// The agents that tasks can name, and the tasks of the session with their sessions.
pub(crate) fn agent_lines(
    agents: &[AgentDescription],
    batches: &[SubagentProjection],
    columns: usize,
) -> Vec<Line> {
    let title = |text: &str| Line::styled(Style::from(ColorRole::Accent).bold(), text);
    let mut lines = vec![title("Agents")];
    let longest = agents.iter().map(|agent| width(&agent.name)).max().unwrap_or(0);
    for agent in agents {
        let name = Line::styled(ColorRole::Text, &format!("  {:<longest$}  ", one_line(&agent.name, 64)));
        lines.push(name.with(ColorRole::Dim, &one_line(&agent.description, 400)).truncate(columns));
    }
    if agents.is_empty() {
        lines.push(Line::styled(ColorRole::Dim, "  this session does not delegate tasks"));
    }
    let panels: Vec<&TaskPanel> = batches.iter().flat_map(|batch| &batch.task_panels).collect();
    if !panels.is_empty() {
        lines.extend([Line::new(), title("Tasks")]);
    }
    for panel in panels {
        let session = panel.session_id.as_deref().map(|id| id.get(..8).unwrap_or(id)).unwrap_or_default();
        let status = if panel.status == "cancelled" { "canceled" } else { &panel.status };
        let name = Line::styled(ColorRole::Text, &format!("  {}  {status}  ", panel.task_id));
        let about = format!("{}  /resume {session}", one_line(&panel.title, 80));
        lines.push(name.with(ColorRole::Dim, &about).truncate(columns));
    }
    lines
}

/// All explores of a session.
pub(crate) fn explores_lines(explores: &[ExploreReport], columns: usize) -> Vec<Line> {
    let options = RenderOptions { width: columns, ..RenderOptions::default() };
    let mut lines = Vec::new();
    for report in explores {
        lines.extend(explore_lines(report, options));
        let note = match report.unfinished_keep {
            Some(number) => {
                format!("keep of try {number} was interrupted; /explore keep {number} finishes it")
            }
            None => format!("{}, {}", report.id, report.place_note()),
        };
        lines.push(Line::styled(ColorRole::Dim, &format!("  {note}")).truncate(options.width));
    }
    if lines.is_empty() {
        lines.push(Line::styled(
            ColorRole::Dim,
            "  nothing was explored here; /explore 3 prompt tries a prompt three times",
        ));
    }
    lines
}

/// Two tries: what they said, and how their files differ.
pub(crate) fn try_comparison_lines(comparison: &TryComparison, columns: usize) -> Vec<Line> {
    let mut lines = comparison_lines(&comparison.conversation, columns);
    let files = |one: &TryReport, files: &[FileChange]| {
        let more = one.files_changed.saturating_sub(files.len());
        let list: Vec<String> = files
            .iter()
            .map(|file| format!("{} {}", file.change.letter(), one_line(&file.path, 200)))
            .chain((more > 0).then(|| format!("and {more} more")))
            .collect();
        let list = if list.is_empty() { "no files".to_owned() } else { list.join(", ") };
        Line::styled(ColorRole::Text, &format!("Try {} changed: {list}", one.number))
    };
    lines.push(Line::new());
    for line in
        [files(&comparison.left, &comparison.left_files), files(&comparison.right, &comparison.right_files)]
    {
        lines.extend(wrap(&line, columns));
    }
    lines.push(Line::new());
    if let Some(note) = comparison.diff_note() {
        lines.push(Line::styled(ColorRole::Dim, note));
    }
    // Lines of files begin with a sign, so this is only found between files.
    let diff = format!("\n{}", comparison.diff.as_deref().unwrap_or_default());
    for (at, file) in diff.split("\ndiff --git ").skip(1).enumerate() {
        lines.extend((at > 0).then(Line::new));
        lines.extend(file_diff_lines(file, columns));
    }
    lines
}

/// The part of a patch about one file, after `diff --git `.
fn file_diff_lines(patch: &str, columns: usize) -> Vec<Line> {
    let (head, body) = match patch.find("\n--- ") {
        Some(at) => (&patch[..at], &patch[at + 1..]),
        None => (patch, ""),
    };
    let name = |prefix: &str| body.lines().take(2).find_map(|line| line.strip_prefix(prefix));
    let (names, facts) = head.split_once('\n').unwrap_or((head, ""));
    let path = name("+++ b/").or_else(|| name("--- a/")).unwrap_or(names).trim_end_matches('\t');
    let mut lines = hard_wrap(&Line::styled(ColorRole::Accent, &sanitize(path)), columns);
    if body.is_empty() {
        let facts = sanitize(facts);
        lines.extend(facts.lines().flat_map(|fact| hard_wrap(&Line::styled(ColorRole::Dim, fact), columns)));
    } else {
        lines.extend(diff_lines(body, columns, DiffCode::of_file(path, None)));
    }
    lines
}

/// The notice after a session switch.
pub(crate) fn switch_notice(switched: &SessionSwitch) -> Vec<String> {
    let SessionSwitch { current: now, previous: before, .. } = switched;
    let back = if switched.can_return { format!("; /resume returns to {before}") } else { String::new() };
    let current = match switched.kind {
        SwitchKind::Resumed => format!("Resumed session {now}"),
        SwitchKind::New => format!("Started session {now}{back}"),
        SwitchKind::Task => format!("Opened the task in session {now}; alt+a returns"),
        SwitchKind::Forked => format!("Forked to session {now} from {before}"),
    };
    let stopped = switched.turn_stopped.then(|| format!("Stopped the turn in {before}"));
    stopped.into_iter().chain([current]).collect()
}

/// The one-line notice about a move.
pub(crate) fn move_notice(reason: MoveReason, from: &str, to: &str, columns: usize) -> String {
    let words = match reason {
        MoveReason::Undo => "Undone: moved",
        MoveReason::Redo => "Redone: moved",
        MoveReason::Move | MoveReason::Followed => "Moved",
    };
    let key = match reason {
        _ if columns < MIN_SIDE_BY_SIDE_COLUMNS => "",
        MoveReason::Undo => " · alt+r to redo",
        _ => " · alt+u to undo",
    };
    let available_width = columns.saturating_sub(width(words) + width(key) + width(" from  to ")).max(16);
    // Columns that one text does not need go to the other.
    let before = available_width - width(to).min(available_width / 2);
    let cut = |text: &str, available_width: usize| match text.strip_suffix('”') {
        Some(quoted) if width(text) > available_width => {
            Line::styled(ColorRole::Dim, quoted).truncate(available_width.saturating_sub(1)).plain() + "”"
        }
        _ => Line::styled(ColorRole::Dim, text).truncate(available_width).plain(),
    };
    let from = cut(from, before);
    let to = cut(to, available_width - width(&from));
    format!("{words} from {from} to {to}{key}")
}

/// The stored JSON of an entry that has no other representation.
pub(crate) fn raw_entry_lines(line: &[u8], columns: usize) -> Vec<Line> {
    let entry: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    let text = serde_json::to_string_pretty(&entry).unwrap_or_default();
    let lines = code_lines("json", &sanitize(&text), Some(&CodeColors::at_once()));
    lines.iter().flat_map(|line| hard_wrap(line, columns)).collect()
}

/// A compaction and what it left out.
pub(crate) fn compaction_lines(details: &CompactionDetails, columns: usize) -> Vec<Line> {
    let text = |text: String| Line::styled(ColorRole::Text, &text);
    let by = details.model.as_ref().map(|model| format!(" by {}", one_line(model, 80))).unwrap_or_default();
    let kept = details.first_kept_entry_id.as_deref().map(|id| one_line(id, 80)).unwrap_or_default();
    let entries = match details.dropped.len() {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    };
    let mut lines = vec![
        Line::styled(ColorRole::Accent, &format!("compaction {}{by}", one_line(&details.entry, 80))),
        text(format!("{} tokens before, {} after", details.tokens_before, details.tokens_after)),
        text(format!("{entries} dropped, kept from {kept}")),
    ];
    lines.extend(details.dropped.iter().map(|entry| {
        let row = format!("  {}  {}", one_line(&entry.id, 80), entry.text);
        Line::styled(ColorRole::Dim, &row).truncate(columns)
    }));
    for (title, files) in [("changed:", &details.modified_files), ("read:", &details.read_files)] {
        if !files.is_empty() {
            lines.push(text(format!("{title} {}", files.join(", "))));
        }
    }
    lines.push(Line::new());
    let summary = sanitize(without_file_lists(&details.summary));
    lines.extend(summary.lines().map(|line| Line::styled(ColorRole::Text, line)));
    lines.push(Line::new());
    let hint = "/compaction undo restores the full context";
    lines.push(Line::styled(ColorRole::Dim, hint));
    lines.iter().flat_map(|line| wrap(line, columns)).collect()
}

/// The title of the page that compares two branches.
pub(crate) const COMPARISON_TITLE: &str = "Branch comparison";

/// A comparison of two branches, side by side if there is room.
pub(crate) fn comparison_lines(comparison: &Comparison, columns: usize) -> Vec<Line> {
    let common = comparison.common_id.as_deref().unwrap_or("the start");
    let mut lines = vec![Line::styled(ColorRole::Dim, &format!("Diverged at {common}."))];
    if columns < MIN_SIDE_BY_SIDE_COLUMNS {
        lines.extend(branch_lines(&comparison.left, columns));
        lines.push(Line::new());
        lines.extend(branch_lines(&comparison.right, columns));
    } else {
        let half = (columns - 3) / 2;
        let (left, right) = (branch_lines(&comparison.left, half), branch_lines(&comparison.right, half));
        for at in 0..left.len().max(right.len()) {
            let mut line = left.get(at).cloned().unwrap_or_default();
            let pad = " ".repeat(half - line.width());
            line.push(ColorRole::Border, &format!("{pad} │ "));
            line.spans.extend(right.get(at).cloned().unwrap_or_default().spans);
            lines.push(line);
        }
    }
    if !comparison.modified_by_both.is_empty() {
        let both = comparison.modified_by_both.join(", ");
        lines.push(Line::styled(ColorRole::Warn, &format!("changed on both: {both}")).truncate(columns));
    }
    lines
}

fn branch_lines(side: &ComparisonSide, columns: usize) -> Vec<Line> {
    let id = side.tip_id.as_deref().unwrap_or("the start");
    let mut lines = vec![
        Line::styled(Style::from(ColorRole::Label).bold(), &one_line(&side.title(), 200)).truncate(columns),
        Line::styled(ColorRole::Dim, id),
        Line::styled(
            ColorRole::Dim,
            &format!(
                "{}, {} tokens, {}",
                count(side.messages as u64, "message"),
                format_tokens(side.usage.total_tokens),
                format_cost(side.usage.cost)
            ),
        ),
    ];
    if !side.modified_files.is_empty() {
        lines.push(Line::styled(ColorRole::Added, &format!("changed {}", side.modified_files.join(", "))));
    }
    for said in &side.said {
        let role = if said.role == "user" { ColorRole::User } else { ColorRole::Text };
        lines.push(Line::styled(role, &one_line(&said.text, 300)));
    }
    if side.left_out > 0 {
        lines.push(Line::styled(ColorRole::Dim, &format!("… {} more", side.left_out)));
    }
    lines.into_iter().map(|line| line.truncate(columns)).collect()
}

#[cfg(test)]
mod tests {
    use osier_protocol::usage::BranchUsage;

    use super::*;
    use crate::text::plain;

    #[test]
    fn the_notice_of_a_move_fits_one_line_on_every_screen() {
        let (from, to) = (format!("the answer “{}”", "一二三四五六七八九十".repeat(3)), "your message “b”");
        for columns in [40, 80, 200] {
            for reason in [MoveReason::Move, MoveReason::Undo, MoveReason::Redo] {
                let notice = move_notice(reason, &from, to, columns);
                assert!(width(&notice) <= columns, "{notice}");
                assert!(notice.contains("”") && notice.contains(" to your "), "{notice}");
            }
        }
        assert_eq!(
            move_notice(MoveReason::Undo, "the start", to, 80),
            "Undone: moved from the start to your message “b” · alt+r to redo"
        );
    }

    #[test]
    fn agents_and_their_tasks_are_listed() {
        let agent = |name: &str, description: &str| AgentDescription {
            name: name.to_owned(),
            description: description.to_owned(),
            tools: None,
            model: None,
            file: None,
        };
        let panel = |task: &str, status: &str, session: Option<&str>| TaskPanel {
            task_id: task.to_owned(),
            title: "look\nup".to_owned(),
            status: status.to_owned(),
            session_id: session.map(str::to_owned),
            ..TaskPanel::default()
        };
        let task_panels =
            vec![panel("b-1", "cancelled", Some("c3a9e07d-1111")), panel("b-2", "running", Some("c3"))];
        let batch = SubagentProjection {
            version: 1,
            source: String::new(),
            batch_id: "b".to_owned(),
            tool_call_id: None,
            status: "running".to_owned(),
            task_panels,
            evidence: Vec::new(),
            process_events: Vec::new(),
            tool_runtime_routes: Vec::new(),
            usage: UsageTotals::default(),
            diagnostics: Default::default(),
        };
        let agents = [agent("explore", "reads"), agent("general", "does anything")];
        expect_test::expect![[r#"
            Agents
              explore  reads
              general  does anything

            Tasks
              b-1  canceled  look up  /resume c3a9e07d
              b-2  running  look up  /resume c3
        "#]]
        .assert_eq(&plain(&agent_lines(&agents, &[batch], 60)));
        expect_test::expect![[r#"
            Agents
              this session does not delegate tasks
        "#]]
        .assert_eq(&plain(&agent_lines(&[], &[], 60)));
        assert!(agent_lines(&agents, &[], 12).iter().all(|line| line.width() <= 12));
    }

    #[test]
    fn the_difference_between_two_tries_is_drawn_as_a_diff_of_each_file() {
        let diff = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -7,2 +7,2 @@\n same\n-let a = 1;\n+let a = 2;\n\
            diff --git a/logo b/logo\nindex 1..2 100644\nBinary files a/logo and b/logo differ\n\
            diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-diff --git x\n";
        let comparison = TryComparison {
            explore: String::new(),
            left: TryReport { number: 1, ..TryReport::default() },
            right: TryReport { number: 2, ..TryReport::default() },
            conversation: Comparison::default(),
            left_files: Vec::new(),
            right_files: Vec::new(),
            diff: Some(diff.to_owned()),
        };
        let drawn = plain(&try_comparison_lines(&comparison, 60));
        let files = drawn.split_once("Try 2 changed: no files\n").unwrap().1;
        expect_test::expect![[r#"

            src/a.rs
            7   same
            8 - let a = 1;
            8 + let a = 2;

            a/logo b/logo
            index 1..2 100644
            Binary files a/logo and b/logo differ

            gone
            1 - diff --git x
        "#]]
        .assert_eq(files);
        for columns in [20, 140] {
            let files = diff.split("diff --git ").skip(1).take(2);
            assert!(
                files.flat_map(|file| file_diff_lines(file, columns)).all(|line| line.width() <= columns)
            );
        }
    }

    fn usage_report() -> UsageReport {
        let usage = UsageTotals { total_tokens: 123_456, requests: 12, cost: 1.25, ..UsageTotals::default() };
        UsageReport {
            session: usage,
            path: usage,
            subagents: UsageTotals::default(),
            models: Vec::new(),
            branches: Vec::new(),
        }
    }

    #[test]
    fn branches_have_titles() {
        let branch = |title: &str, active| BranchUsage {
            tip: "0000000d".to_owned(),
            active,
            title: title.to_owned(),
            ..BranchUsage::default()
        };
        let branches =
            vec![branch("[good]", false), branch("count the words of every file", true), branch("", false)];
        let text = crate::text::plain(&usage_lines(&UsageReport { branches, ..usage_report() }, 80));
        let names: Vec<&str> = text.lines().rev().take(3).map(|line| line[2..30].trim_end()).collect();
        assert_eq!(names, ["branch to 0000000d", "branch count the w (current)", "branch [good]"]);
    }

    #[test]
    fn session_information_fits_forty_columns() {
        let card = Card {
            id: "5e551011-0000-4000-8000-000000000000".to_owned(),
            file: Some("/home/me/.osier/sessions/--home-me-project--/a.jsonl".to_owned()),
            store: "file".to_owned(),
            ..Card::default()
        };
        for columns in [40, 80] {
            let mut lines = session_lines(&card, LocalClock::default(), columns);
            lines.extend(usage_lines(&usage_report(), columns));
            assert!(lines.iter().all(|line| line.width() <= columns && !line.plain().contains('…')));
        }
        let mut lines = session_lines(&card, LocalClock::default(), 40);
        lines.extend(usage_lines(&usage_report(), 40));
        expect_test::expect![[r#"
            Session
              id
                5e551011-0000-4000-8000-000000000000
              file
                /home/me/.osier/sessions/--home-me-p
                roject--/a.jsonl
              store       file
              created     1970-01-01 00:00
              entries     0 (0 messages)
              branches    0

            Usage
              session
                123k tokens · 12 requests · $1.25
              current path
                123k tokens · 12 requests · $1.25
        "#]]
        .assert_eq(&crate::text::plain(&lines));
    }
}
