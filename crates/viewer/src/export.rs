//! A whole session as one HTML file that opens from a disk and needs no network.
//!
//! The file is written piece by piece: the page, one row per entry for the tree, the bodies of the entries in blocks, the script,
//! and the stored lines in blocks. The browser reads a block when it draws an entry of it, or saves the log. The lines are about half
//! of a large file, and the page is ready before the browser has read them.

use osier_protocol::TreeRow;
use osier_protocol::time::{self, Millis};
use osier_protocol::usage::{UsageTotals, format_cost, format_tokens};
use serde::Serialize;

use crate::assets::export_script;
use crate::json::script_json;
use crate::page::export_head;
use crate::tool_result::count;

/// The size of a block.
const BLOCK: usize = 128 * 1024;

/// What the top of the page shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionSummary {
    pub id: String,
    pub title: String,
    pub created: Millis,
    pub modified: Millis,
    pub cwd: String,
    pub models: Vec<String>,
    pub messages: u64,
    pub branches: u64,
    pub usage: UsageTotals,
}

impl SessionSummary {
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let date = |at: Millis| time::format(at).get(..16).unwrap_or_default().replace('T', " ") + " UTC";
        let mut facts = vec![("Started", date(self.created))];
        if self.modified > self.created {
            facts.push(("Last message", date(self.modified)));
        }
        if !self.models.is_empty() {
            facts.push(("Models", self.models.join(", ")));
        }
        facts.push(("Messages", format!("{} in {}", self.messages, branches(self.branches))));
        if self.usage.total_tokens > 0 {
            facts.push((
                "Tokens",
                format!(
                    "{} in {}",
                    format_tokens(self.usage.total_tokens),
                    count(self.usage.requests, "request")
                ),
            ));
        }
        if self.usage.cost > 0.0 {
            facts.push(("Cost", format_cost(self.usage.cost)));
        }
        facts.push(("Directory", self.cwd.clone()));
        facts.push(("Session", self.id.clone()));
        facts
    }
}

fn branches(number: u64) -> String {
    match number {
        1 => "1 branch".to_owned(),
        _ => format!("{number} branches"),
    }
}

/// What the browser code needs to know of the session before the rows.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionMeta<'a> {
    session_id: &'a str,
    title: &'a str,
    leaf_entry_id: Option<&'a str>,
}

/// Writes an export: the rows of all entries, the labels, and the bodies in the same order. Then [`HtmlExport::log`] takes the lines.
#[derive(Debug)]
pub struct HtmlExport<W> {
    write: W,
    script: String,
    rows: DataBlock,
    labels: DataBlock,
    bodies: DataBlock,
}

/// The end of an export: the log that the page can save.
#[derive(Debug)]
pub struct ExportedLog<W> {
    write: W,
    lines: DataBlock,
}

/// Items of one kind that are not written yet.
#[derive(Debug)]
struct DataBlock {
    kind: &'static str,
    /// The items, with commas between them.
    content: String,
    /// The index of the first item, and the number of items.
    first: usize,
    items: usize,
}

impl<E, W: FnMut(&[u8]) -> Result<(), E>> HtmlExport<W> {
    /// Writes the page. `leaf` is the end of the path that it shows first.
    pub fn begin(summary: &SessionSummary, leaf: Option<&str>, mut write: W) -> Result<HtmlExport<W>, E> {
        let script = export_script();
        write(export_head(summary, &script).as_bytes())?;
        let meta = SessionMeta { session_id: &summary.id, title: &summary.title, leaf_entry_id: leaf };
        write(data_block("session", 0, &script_json(&meta)).as_bytes())?;
        let [rows, labels, bodies] = ["rows", "labels", "bodies"].map(DataBlock::new);
        Ok(HtmlExport { write, script, rows, labels, bodies })
    }

    /// Adds an entry to the tree.
    pub fn row(&mut self, row: &TreeRow) -> Result<(), E> {
        self.rows.push(&script_json(row), &mut self.write)
    }

    /// Sets the labels of entries, by id. Marks of deleted branches are not among the rows, so labels are given apart.
    pub fn labels<'a>(&mut self, labels: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), E> {
        for label in labels {
            self.labels.push(&script_json(&label), &mut self.write)?;
        }
        Ok(())
    }

    /// Adds the body of the next entry.
    pub fn body(&mut self, html: &str) -> Result<(), E> {
        self.bodies.push(&script_json(&html), &mut self.write)
    }

    /// Ends the bodies. From here on, the page is ready.
    pub fn log(mut self) -> Result<ExportedLog<W>, E> {
        for block in [&mut self.rows, &mut self.labels, &mut self.bodies] {
            block.flush(&mut self.write)?;
        }
        (self.write)(format!("<script>{}</script>\n", self.script).as_bytes())?;
        Ok(ExportedLog { write: self.write, lines: DataBlock::new("lines") })
    }
}

impl<E, W: FnMut(&[u8]) -> Result<(), E>> ExportedLog<W> {
    /// Adds the next line: the header, and then the entries.
    pub fn line(&mut self, line: &[u8]) -> Result<(), E> {
        self.lines.push(&script_json(&String::from_utf8_lossy(line)), &mut self.write)
    }

    /// Writes the end of the file.
    pub fn end(mut self) -> Result<(), E> {
        self.lines.flush(&mut self.write)?;
        (self.write)(b"</body></html>\n")
    }
}

impl DataBlock {
    fn new(kind: &'static str) -> DataBlock {
        DataBlock { kind, content: String::new(), first: 0, items: 0 }
    }

    fn push<E>(&mut self, item: &str, write: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        if self.content.len() + item.len() > BLOCK {
            self.flush(write)?;
        }
        if self.items > 0 {
            self.content.push(',');
        }
        self.content.push_str(item);
        self.items += 1;
        Ok(())
    }

    fn flush<E>(&mut self, write: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        if self.items == 0 {
            return Ok(());
        }
        let block = data_block(self.kind, self.first, &format!("[{}]", self.content));
        self.content.clear();
        self.first += std::mem::take(&mut self.items);
        write(block.as_bytes())
    }
}

/// A data block, which a browser neither runs nor draws.
fn data_block(kind: &str, first: usize, json: &str) -> String {
    format!("<script type=\"application/json\" class=\"{kind}\" data-first=\"{first}\">{json}</script>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The browser runs the script when it has read the bodies.
    #[test]
    fn the_script_comes_before_the_log() {
        let mut file = Vec::new();
        let write = |bytes: &[u8]| -> Result<(), std::convert::Infallible> {
            file.extend_from_slice(bytes);
            Ok(())
        };
        let Ok(mut export) = HtmlExport::begin(&SessionSummary::default(), None, write);
        let Ok(()) = export.body("<p>hello</p>");
        let Ok(mut log) = export.log();
        let (Ok(()), Ok(())) = (log.line(b"{}"), log.line(b"{}"));
        let Ok(()) = log.end();
        let file = String::from_utf8_lossy(&file);
        let places = ["class=\"bodies\"", "<script>(() => {", "class=\"lines\"", "</html>"]
            .map(|part| file.find(part));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    }
}
