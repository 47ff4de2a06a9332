//! Markdown as blocks and styled runs. The component `Markdown` gives them colors and wraps them.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde::Serialize;

/// A piece of a paragraph with one style.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
struct StyledRun {
    text: String,
    #[serde(skip_serializing_if = "is_false")]
    bold: bool,
    #[serde(skip_serializing_if = "is_false")]
    italic: bool,
    #[serde(skip_serializing_if = "is_false")]
    strike: bool,
    #[serde(skip_serializing_if = "is_false")]
    code: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum MarkdownBlock {
    Paragraph { runs: Vec<StyledRun> },
    Heading { level: u8, runs: Vec<StyledRun> },
    Code { language: String, text: String },
    Quote { blocks: Vec<MarkdownBlock> },
    List { start: Option<u64>, items: Vec<Vec<MarkdownBlock>> },
    Table { alignments: Vec<&'static str>, rows: Vec<Vec<Vec<StyledRun>>> },
    Rule,
}

/// The blocks of a text as JSON.
pub(super) fn parse(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut builder = BlockReader {
        events: Parser::new_ext(text, options).collect::<Vec<_>>().into_iter(),
        style: StyledRun::default(),
    };
    let blocks = builder.blocks();
    serde_json::to_string(&blocks).unwrap_or_else(|_| "[]".to_owned())
}

struct BlockReader<'a> {
    events: std::vec::IntoIter<Event<'a>>,
    style: StyledRun,
}

impl<'a> BlockReader<'a> {
    /// The blocks up to the end of the enclosing one.
    fn blocks(&mut self) -> Vec<MarkdownBlock> {
        let mut blocks = Vec::new();
        let mut loose: Vec<StyledRun> = Vec::new();
        let flush = |loose: &mut Vec<StyledRun>, blocks: &mut Vec<MarkdownBlock>| {
            if !loose.is_empty() {
                blocks.push(MarkdownBlock::Paragraph { runs: std::mem::take(loose) });
            }
        };
        while let Some(event) = self.events.next() {
            match event {
                Event::Start(tag) if is_inline(&tag) => self.inline_start(&tag, &mut loose),
                Event::Start(tag) => {
                    flush(&mut loose, &mut blocks);
                    blocks.extend(self.block(tag));
                }
                Event::Rule => {
                    flush(&mut loose, &mut blocks);
                    blocks.push(MarkdownBlock::Rule);
                }
                Event::End(_) => break,
                event => self.text(event, &mut loose),
            }
        }
        flush(&mut loose, &mut blocks);
        blocks
    }

    fn block(&mut self, tag: Tag<'a>) -> Option<MarkdownBlock> {
        Some(match tag {
            Tag::Paragraph | Tag::HtmlBlock => MarkdownBlock::Paragraph { runs: self.runs() },
            Tag::Heading { level, .. } => {
                MarkdownBlock::Heading { level: level_number(level), runs: self.runs() }
            }
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                let text: String = self.runs().into_iter().map(|run| run.text).collect();
                MarkdownBlock::Code { language, text: text.trim_end_matches('\n').to_owned() }
            }
            Tag::BlockQuote(_) => MarkdownBlock::Quote { blocks: self.blocks() },
            Tag::List(start) => {
                let mut items = Vec::new();
                while let Some(Event::Start(Tag::Item)) = self.events.next() {
                    items.push(self.blocks());
                }
                MarkdownBlock::List { start, items }
            }
            Tag::Table(alignments) => MarkdownBlock::Table {
                alignments: alignments.iter().map(alignment).collect(),
                rows: self.rows(),
            },
            _ => MarkdownBlock::Paragraph { runs: self.runs() },
        })
    }

    fn rows(&mut self) -> Vec<Vec<Vec<StyledRun>>> {
        let mut rows = Vec::new();
        while let Some(event) = self.events.next() {
            match event {
                Event::Start(Tag::TableHead | Tag::TableRow) => {
                    let mut cells = Vec::new();
                    while let Some(Event::Start(Tag::TableCell)) = self.events.next() {
                        cells.push(self.runs());
                    }
                    rows.push(cells);
                }
                Event::End(TagEnd::Table) => break,
                _ => {}
            }
        }
        rows
    }

    /// The runs up to the end of the enclosing element.
    fn runs(&mut self) -> Vec<StyledRun> {
        let mut runs = Vec::new();
        while let Some(event) = self.events.next() {
            match event {
                Event::Start(tag) => self.inline_start(&tag, &mut runs),
                Event::End(_) => break,
                event => self.text(event, &mut runs),
            }
        }
        runs
    }

    fn inline_start(&mut self, tag: &Tag<'a>, runs: &mut Vec<StyledRun>) {
        let outer = self.style.clone();
        match tag {
            Tag::Strong => self.style.bold = true,
            Tag::Emphasis => self.style.italic = true,
            Tag::Strikethrough => self.style.strike = true,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.style.link = Some(dest_url.to_string());
            }
            _ => {}
        }
        runs.extend(self.runs());
        self.style = outer;
    }

    fn text(&self, event: Event<'a>, runs: &mut Vec<StyledRun>) {
        let plain = |text: String| StyledRun { text, ..self.style.clone() };
        let run = match event {
            Event::Code(text) => StyledRun { code: true, ..plain(text.into_string()) },
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => plain(text.into_string()),
            Event::SoftBreak | Event::HardBreak => plain("\n".to_owned()),
            Event::TaskListMarker(done) => plain(if done { "[x] " } else { "[ ] " }.to_owned()),
            _ => return,
        };
        match runs.last_mut() {
            Some(last)
                if StyledRun { text: String::new(), ..last.clone() }
                    == StyledRun { text: String::new(), ..run.clone() } =>
            {
                last.text.push_str(&run.text);
            }
            _ => runs.push(run),
        }
    }
}

fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::Strong | Tag::Emphasis | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. })
}

fn alignment(alignment: &Alignment) -> &'static str {
    match alignment {
        Alignment::Right => "right",
        Alignment::Center => "center",
        Alignment::None | Alignment::Left => "left",
    }
}

fn level_number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parsed(text: &str) -> Value {
        serde_json::from_str(&parse(text)).unwrap()
    }

    #[test]
    fn blocks_and_runs() {
        assert_eq!(
            parsed("# A\n\nb **c** `d`\n\n- one\n- two\n"),
            json!([
                { "kind": "heading", "level": 1, "runs": [{ "text": "A" }] },
                { "kind": "paragraph", "runs": [{ "text": "b " }, { "text": "c", "bold": true }, { "text": " " }, { "text": "d", "code": true }] },
                { "kind": "list", "start": null, "items": [
                    [{ "kind": "paragraph", "runs": [{ "text": "one" }] }],
                    [{ "kind": "paragraph", "runs": [{ "text": "two" }] }],
                ] },
            ])
        );
        let code = parsed("```rust\nfn a() {}\n```");
        assert_eq!(code, json!([{ "kind": "code", "language": "rust", "text": "fn a() {}" }]));
    }

    #[test]
    fn tables_and_nesting() {
        let table = parsed("| a | b |\n|---|--:|\n| 1 | 2 |\n");
        assert_eq!(table[0]["alignments"], json!(["left", "right"]));
        assert_eq!(table[0]["rows"][1][1][0]["text"], "2");
        let nested = parsed("> q\n>\n> - x\n>   1. y\n");
        assert_eq!(nested[0]["blocks"][1]["items"][0][1]["start"], 1);
    }
}
