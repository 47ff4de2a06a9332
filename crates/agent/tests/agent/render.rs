//! Renders the result of a scenario: one line per message, columns side by side.

use osier_model::{Message, Request};
use osier_tree::projection::preview::one_line;
use serde_json::Value;

/// The maximum width of a table cell.
const WIDEST: usize = 42;

/// The end of the leaf's row.
const ACTIVE: &str = "  ← active";

/// A message as one line, with checkpoints as `‹N›`.
pub(crate) fn message(message: &Value) -> String {
    let role = match message["role"].as_str().unwrap_or_default() {
        "toolResult" => "result",
        role => role,
    };
    if role == "system" {
        return "system".to_owned();
    }
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => {
            let block = |block: &Value| match block["type"].as_str().unwrap_or_default() {
                "toolCall" => format!("[{}]", block["name"].as_str().unwrap_or_default()),
                _ => block["text"].as_str().unwrap_or_default().to_owned(),
            };
            blocks.as_array().into_iter().flatten().map(block).collect::<Vec<_>>().join(" ")
        }
    };
    let text = text.replace("<system>Checkpoint ", "‹").replace("</system>", "›");
    let (role, text) = summarized(&text).unwrap_or((role, &text));
    format!("{role}: {}", one_line(text, 400))
}

/// A summary without its standard introduction.
fn summarized(text: &str) -> Option<(&'static str, &str)> {
    let what = match text {
        text if text.starts_with("This is a summary of another branch of this conversation") => "branch",
        text if text.starts_with("This is a summary of the conversation so far") => "compacted",
        _ => return None,
    };
    let (_, text) = text.split_once("<summary>")?;
    let text = text.rsplit_once("</summary>").map_or(text, |(text, _)| text);
    Some((what, text.split_once("Summary of that branch:").map_or(text, |(_, text)| text)))
}

/// The text of a request with one message.
pub(crate) fn request_text(request: &Request) -> String {
    match &*request.messages {
        [Message::User(user)] => user.text(),
        other => panic!("{other:?}"),
    }
}

/// What a summarizer gets, without the standard format.
pub(crate) fn summarizer_input(request: &Request) -> String {
    let asked = request_text(request);
    let mut input = String::new();
    let (blocks, task) = asked.rsplit_once("</").unwrap();
    let (_, task) = task.split_once('>').unwrap();
    for line in blocks.lines().filter(|line| !line.is_empty() && *line != "<conversation>") {
        input += &format!("  {}\n", one_line(line, 110));
    }
    let form = task.contains("Use exactly this format:");
    for line in task.lines().filter(|line| !form || line.starts_with("Additional focus")) {
        input += if line.is_empty() { String::new() } else { format!("  {line}\n") }.as_str();
    }
    input
}

/// Indents a text by two columns.
pub(crate) fn indent(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect()
}

/// Renders columns side by side.
pub(crate) fn table(columns: &[(String, Vec<String>)]) -> String {
    let keep = |cell: &String| {
        let (text, mark) = cell.strip_suffix(ACTIVE).map_or((cell.as_str(), ""), |text| (text, ACTIVE));
        match text.char_indices().nth(WIDEST) {
            Some((at, _)) => format!("{}…{mark}", &text[..at]),
            None => cell.clone(),
        }
    };
    let columns: Vec<Vec<String>> = columns
        .iter()
        .map(|(title, cells)| std::iter::once(title).chain(cells).map(keep).collect())
        .collect();
    let height = columns.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: &Vec<String>| column.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let mut shown = String::new();
    for row in 0..height {
        let cells = columns.iter().map(|column| {
            let cell = column.get(row).map_or("", String::as_str);
            let pad = width(column) - cell.chars().count();
            format!("{cell}{}", " ".repeat(pad))
        });
        let line = cells.collect::<Vec<_>>().join(" │ ");
        shown += line.trim_end_matches([' ', '│']);
        shown.push('\n');
    }
    shown
}
