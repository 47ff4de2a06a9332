//! Draws a session as text.

use std::borrow::Cow;
use std::fmt::Write;

use expect_test::Expect;
use osier_tree::entry::parse_entry;
use osier_tree::projection::Lines;
use osier_tree::projection::context::emit_messages;
use osier_tree::projection::outline::{Glyphs, Outline, OutlineOptions};
use osier_tree::projection::preview::{Previews, one_line, search_text};
use osier_tree::scan::RawJson;
use osier_tree::{MessageRole, Seq};

use crate::ScriptedSession;

/// Runs a script and compares the drawing of its tree.
#[track_caller]
pub fn check(script: &str, expected: Expect) {
    expected.assert_eq(&draw(&ScriptedSession::run(script)));
}

/// Draws the tree as `osier sessions tree` does.
pub fn draw(script: &ScriptedSession) -> String {
    draw_with(script, &OutlineOptions::default(), Glyphs::Plain)
}

/// Draws the tree with the given options, one line per row.
pub fn draw_with(script: &ScriptedSession, options: &OutlineOptions, glyphs: Glyphs) -> String {
    let previews = previews(script);
    let outline = outline(script, options);
    let mut drawing = String::new();
    for (at, row) in outline.rows.iter().enumerate() {
        let pieces = outline.row_parts(at, &previews[row.seq.index()], glyphs);
        writeln!(drawing, "{pieces}").expect("writing to a String cannot fail");
    }
    drawing
}

/// The previews of all entries, in log order.
pub fn previews(script: &ScriptedSession) -> Vec<String> {
    let mut previews = Previews::new(None);
    script.lines.iter().map(|line| previews.preview(&read(line))).collect()
}

/// The rows of the tree with the given options.
pub fn outline(script: &ScriptedSession, options: &OutlineOptions) -> Outline {
    let previews = previews(script);
    let texts = |seq: Seq| {
        let entry = read(&script.lines[seq.index()]);
        let shown = if entry.role == MessageRole::ToolResult { &*previews[seq.index()] } else { "" };
        Cow::Owned(format!("{} {shown}", search_text(&entry)))
    };
    Outline::new(&script.tree, script.tree.leaf(), options, &texts)
}

fn read(line: &[u8]) -> osier_tree::Entry<'_> {
    parse_entry(line).expect("every line of a script is an entry")
}

/// The context at the leaf, one line per message.
pub fn context_text(script: &ScriptedSession) -> String {
    let mut seen = String::new();
    for item in script.tree.context_entries(script.tree.leaf()).items {
        let entry = read(&script.lines[item.seq.index()]);
        let edit = item.edit.and_then(|edit| script.lines.entry(edit));
        emit_messages(&entry, edit.as_ref(), &mut |message| {
            writeln!(seen, "{}", message_text(message)).expect("writing to a String cannot fail");
        });
    }
    seen
}

fn message_text(message: &[u8]) -> String {
    let Ok(message) = RawJson::parse(message) else { return "?".to_owned() };
    let word = |key| message.get(key).and_then(RawJson::text);
    let mut text = word("summary").or_else(|| word("command")).map(Cow::into_owned).unwrap_or_default();
    if let Some(content) = message.get("content") {
        text.push_str(&content.text().unwrap_or_default());
        content.each_item(|block| {
            if let Some(block_text) = block.get("text").and_then(RawJson::text) {
                text.push_str(&block_text);
            }
            if let Some(name) = block.get("name").and_then(RawJson::text) {
                write!(text, " [calls {name}]").expect("writing to a String cannot fail");
            }
        });
    }
    format!("{}: {}", word("role").unwrap_or_default(), one_line(&text, 200))
}
