//! A whole session as one HTML file that opens from a disk and needs no network.
//!
//! The file is written piece by piece: the page, one row per entry for the tree, the bodies of the entries in blocks, and the
//! script. The browser reads a block when it draws an entry of it.

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

/// Writes an export: the rows of all entries, then the body of each in the same order.
#[derive(Debug)]
pub struct HtmlExport<W> {
    write: W,
    script: String,
    /// The items of the open block, with commas between them.
    block: String,
    block_kind: &'static str,
    /// The index of the first item of the open block, and the number of items in it.
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
        Ok(HtmlExport { write, script, block: String::new(), block_kind: "rows", first: 0, items: 0 })
    }

    /// Adds an entry to the tree.
    pub fn row(&mut self, row: &TreeRow) -> Result<(), E> {
        self.push("rows", &script_json(row))
    }

    /// Sets the labels of entries, by id. Marks of deleted branches are not among the rows, so labels are given apart.
    pub fn labels<'a>(&mut self, labels: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), E> {
        for label in labels {
            self.push("labels", &script_json(&label))?;
        }
        Ok(())
    }

    /// Adds the body of the next entry.
    pub fn body(&mut self, html: &str) -> Result<(), E> {
        self.push("bodies", &script_json(&html))
    }

    /// Writes the end of the file.
    pub fn end(mut self) -> Result<(), E> {
        self.flush()?;
        let script = format!("<script type=\"module\">{}</script></body></html>\n", self.script);
        (self.write)(script.as_bytes())
    }

    fn push(&mut self, kind: &'static str, item: &str) -> Result<(), E> {
        if kind != self.block_kind {
            self.flush()?;
            (self.block_kind, self.first) = (kind, 0);
        } else if self.block.len() + item.len() > BLOCK {
            self.flush()?;
        }
        if self.items > 0 {
            self.block.push(',');
        }
        self.block.push_str(item);
        self.items += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), E> {
        if self.items == 0 {
            return Ok(());
        }
        let block = data_block(self.block_kind, self.first, &format!("[{}]", self.block));
        self.block.clear();
        self.first += std::mem::take(&mut self.items);
        (self.write)(block.as_bytes())
    }
}

/// A data block, which a browser neither runs nor draws.
fn data_block(kind: &str, first: usize, json: &str) -> String {
    format!("<script type=\"application/json\" class=\"{kind}\" data-first=\"{first}\">{json}</script>\n")
}
