//! For any question and any screen size: every character is shown or drawn as a code, no line is too wide, and nothing can be
//! allowed before its end was drawn.

use osier_protocol::ToolQuestion;
use osier_tools::ToolCall;
use osier_tree::projection::preview::is_unsafe_char;
use proptest::prelude::*;

use super::*;
use crate::clock::LocalClock;

/// Characters that can make text misleading, mixed with harmless ones.
const HOSTILE: &[&str] = &[
    "a",
    "Z",
    "é",
    "日",
    "🎉",
    "-",
    "+",
    "<",
    "<U+",
    "<U+200B>",
    ">",
    "'",
    "\"",
    "#",
    " ",
    "          ",
    "\n",
    "\n\n",
    "\t",
    "\r",
    "\r\n",
    "\0",
    "\u{7}",
    "\u{8}",
    "\u{1b}",
    "\u{1b}[31m",
    "\u{1b}[2J",
    "\u{1b}]0;x\u{7}",
    "\u{7f}",
    "\u{85}",
    "\u{9b}",
    "\u{a0}",
    "\u{ad}",
    "\u{301}",
    "\u{338}",
    "\u{34f}",
    "\u{61c}",
    "\u{1160}",
    "\u{180e}",
    "\u{200b}",
    "\u{200d}",
    "\u{200e}",
    "\u{200f}",
    "\u{2028}",
    "\u{2029}",
    "\u{202e}",
    "\u{2060}",
    "\u{2066}",
    "\u{2800}",
    "\u{3000}",
    "\u{3164}",
    "\u{e000}",
    "\u{fe0f}",
    "\u{feff}",
    "\u{fffd}",
    "\u{ffff}",
    "\u{e0041}",
    "\u{e0100}",
    "\u{10ffff}",
];

fn hostile() -> impl Strategy<Value = String> {
    let known =
        prop::collection::vec(prop::sample::select(HOSTILE), 0..40).prop_map(|pieces| pieces.concat());
    prop_oneof![4 => known, 1 => any::<String>()]
}

fn room(columns: usize, rows: usize) -> OverlayArea {
    OverlayArea { columns, rows, now: 0, clock: LocalClock::default() }
}

fn questions(text: &str) -> [ToolQuestion; 4] {
    let path = text.to_owned();
    let whats = [
        ProposedChange::Command { command: text.to_owned() },
        ProposedChange::Diff { path: "a".to_owned(), diff: text.to_owned(), created: false },
        ProposedChange::Diff { path, diff: "+x\n".to_owned(), created: true },
        ProposedChange::Call { arguments: serde_json::json!({ text: text }) },
    ];
    whats.map(|what| ToolQuestion {
        sandbox_denial: None,
        call: ToolCall { id: "c".to_owned(), name: text.to_owned(), arguments: serde_json::Value::Null },
        change: what,
        reason: AskReason::Outside,
        allowances: vec![Allowance::Command(text.to_owned()), Allowance::Tool(text.to_owned())],
    })
}

/// Draws page by page to the end, and returns all rows of the details.
fn read(prompt: &mut ApprovalPrompt, area: OverlayArea) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    loop {
        let frame = prompt.view(area);
        assert!(frame.lines.len() <= area.rows, "too high");
        for line in &frame.lines {
            assert!(line.width() <= area.columns, "too wide: {}", line.plain());
            assert!(!line.plain().contains(is_unsafe_char), "{:?}", line.plain());
        }
        let (from, page, last) =
            (prompt.first_line, prompt.page_height(area), prompt.last_scroll_position(area));
        let shown = frame.lines[1..].iter().take(page.min(prompt.details(area.columns).len()));
        let shown: Vec<String> = shown.map(Line::plain).collect();
        rows.truncate(from);
        rows.extend(shown);
        prompt.note_shown(area);
        if from == last {
            return rows;
        }
        let yes = prompt.handle_key(KeyCode::Char('y').into(), area);
        assert!(matches!(yes, OverlayOutcome::Stay), "allowed unread");
        prompt.handle_key(KeyCode::PageDown.into(), area);
    }
}

/// The text that was wrapped into rows.
fn joined(rows: &[String]) -> String {
    let mut text = String::new();
    for row in rows {
        match row.strip_prefix("↳ ") {
            Some(more) => text.push_str(more),
            None => {
                text.push('\n');
                text.push_str(row.strip_prefix("  ").expect("every row is indented"));
            }
        }
    }
    text.split_off(text.len().min(1))
}

fn decoded(text: &str) -> String {
    let mut parts = text.split("<U+");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('>').expect("a code has an end");
        let code = u32::from_str_radix(code, 16).expect("a code is a number");
        out.push(char::from_u32(code).expect("a code is a character"));
        out.push_str(rest);
    }
    out
}

fn check(text: &str, columns: usize, rows: usize) {
    let area = room(columns, rows);
    for question in questions(text) {
        let what = question.change.clone();
        let mut prompt = ApprovalPrompt::new(1, Question::Tool(question), None, Arc::default());
        let all = joined(&read(&mut prompt, area));
        let yes = prompt.handle_key(KeyCode::Char('y').into(), area);
        assert!(matches!(yes, OverlayOutcome::CloseAndRun(_)), "not allowed after it was read");
        let title = prompt.title();
        let all = match width(&title) > columns {
            true => {
                let rest = all.strip_prefix(&title).expect("a truncated title is repeated");
                rest.strip_prefix('\n').expect("details follow the title")
            }
            false => &all,
        };
        let tabs = |text: &str| text.replace('\t', "    ");
        match what {
            ProposedChange::Command { command: text } | ProposedChange::Diff { diff: text, .. }
                if !text.is_empty() =>
            {
                assert_eq!(decoded(all), tabs(text.strip_suffix('\n').unwrap_or(&text)));
            }
            ProposedChange::Call { arguments } => {
                let back: serde_json::Value = serde_json::from_str(&decoded(all)).expect("the arguments");
                assert_eq!(back, arguments);
            }
            _ => {}
        }
        assert!(decoded(&title).contains(text), "{title}");
    }
}

#[test]
fn a_wide_screen_shows_a_change_side_by_side_and_requires_its_end() {
    let lines = |sign: &str, most: usize| -> String {
        (1..=most).map(|number| format!("{sign} {number}.\n")).collect()
    };
    let diff = format!("@@ -1,30 +1,31 @@\n{}{}", lines("-old", 30), lines("+new", 31));
    let [mut question, ..] = questions("a");
    question.change = ProposedChange::Diff { path: "a".to_owned(), diff, created: false };
    let mut prompt = ApprovalPrompt::new(1, Question::Tool(question), None, Arc::default());
    let rows = read(&mut prompt, room(140, 24));
    assert_eq!(rows.len(), 31);
    for number in 1..=30 {
        let is_pair =
            |row: &String| row.contains(&format!("old {number}.")) && row.contains(&format!("new {number}."));
        assert!(rows.iter().any(is_pair), "{number}: {rows:?}");
    }
    assert!(rows[30].contains("new 31."), "{rows:?}");
    assert!(matches!(
        prompt.handle_key(KeyCode::Char('y').into(), room(140, 24)),
        OverlayOutcome::CloseAndRun(_)
    ));
}

#[test]
fn the_attack_corpus_is_drawn_completely() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/approval");
    let mut count = 0;
    for seed in std::fs::read_dir(seeds).unwrap() {
        let text = String::from_utf8(std::fs::read(seed.unwrap().path()).unwrap()).unwrap();
        for (columns, rows) in [(12, 8), (40, 12), (80, 24), (200, 60)] {
            check(&text, columns, rows);
        }
        count += 1;
    }
    assert!(count >= 10, "{count}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_question_is_drawn_completely(text in hostile(), columns in 4usize..120, rows in 3usize..40) {
        check(&text, columns, rows);
    }
}
