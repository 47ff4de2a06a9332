//! Markdown. HTML in it is shown as text, and images are not loaded.

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::link::safe_address;
use crate::output::{code_block, plain_block};
use crate::text::push_text;

/// The supported extensions to CommonMark; the same as in the terminal.
const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// Longer texts are shown as they are.
const MAX_MARKDOWN: usize = 256 * 1024;
/// Deeper blocks are shown at this depth, because browsers limit the depth too.
const MAX_DEPTH: usize = 40;

/// Text that may contain Markdown.
pub(crate) fn markdown(text: &str) -> Markup {
    if text.trim().is_empty() {
        return html! {};
    }
    let body = match text.len() > MAX_MARKDOWN {
        true => plain_block(text),
        false => PreEscaped(MarkdownWriter::default().write(text)),
    };
    html! { div.markdown { (body) } }
}

#[derive(Debug, Default)]
struct MarkdownWriter {
    out: String,
    /// The markup that closes each open element; empty for an element that was too deep.
    open: Vec<&'static str>,
    /// The language and the text of the open code block.
    code: Option<(String, String)>,
    alignments: Vec<Alignment>,
    column: usize,
    in_table_head: bool,
    in_link: bool,
}

impl MarkdownWriter {
    fn write(mut self, text: &str) -> String {
        for event in Parser::new_ext(text, OPTIONS) {
            self.event(event);
        }
        self.out
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(code) => {
                self.out.push_str("<code>");
                push_text(&mut self.out, &code);
                self.out.push_str("</code>");
            }
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(done) => self.out.push_str(if done { "☑ " } else { "☐ " }),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text);
            }
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some((_, code)) => code.push_str(text),
            None => push_text(&mut self.out, text),
        }
    }

    fn element(&mut self, open: &str, close: &'static str) {
        if self.open.len() < MAX_DEPTH {
            self.out.push_str(open);
            self.open.push(close);
        } else {
            self.open.push("");
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::CodeBlock(kind) => self.code = Some((language(&kind), String::new())),
            Tag::HtmlBlock => self.code = Some(("html".to_owned(), String::new())),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.element("<div class=\"table\"><table>", "</tbody></table></div>");
            }
            Tag::TableHead => {
                (self.column, self.in_table_head) = (0, true);
                self.element("<thead><tr>", "</tr></thead><tbody>");
            }
            Tag::TableRow => {
                self.column = 0;
                self.element("<tr>", "</tr>");
            }
            Tag::TableCell => self.start_cell(),
            Tag::List(Some(1)) => self.element("<ol>", "</ol>"),
            Tag::List(Some(first)) => self.element(&format!("<ol start=\"{first}\">"), "</ol>"),
            Tag::Link { dest_url, .. } => self.start_link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.start_link(&dest_url);
                self.out.push_str("🖼 ");
            }
            Tag::Heading { level, .. } => {
                let (open, close) = heading(level);
                self.element(open, close);
            }
            Tag::Paragraph => self.element("<p>", "</p>"),
            Tag::BlockQuote(_) => self.element("<blockquote>", "</blockquote>"),
            Tag::List(None) => self.element("<ul>", "</ul>"),
            Tag::Item => self.element("<li>", "</li>"),
            Tag::Emphasis => self.element("<em>", "</em>"),
            Tag::Strong => self.element("<strong>", "</strong>"),
            Tag::Strikethrough => self.element("<del>", "</del>"),
            _ => self.element("", ""),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        if matches!(tag, TagEnd::CodeBlock | TagEnd::HtmlBlock) {
            let (language, code) = self.code.take().unwrap_or_default();
            let block = fenced(&code, &language);
            self.out.push_str(&block.into_string());
            return;
        }
        let close = self.open.pop().unwrap_or_default();
        self.out.push_str(close);
        self.in_link &= close != "</a>";
        self.in_table_head &= tag != TagEnd::TableHead;
    }

    fn start_cell(&mut self) {
        let class = match self.alignments.get(self.column) {
            Some(Alignment::Right) => " class=\"right\"",
            Some(Alignment::Center) => " class=\"center\"",
            _ => "",
        };
        self.column += 1;
        match self.in_table_head {
            true => self.element(&format!("<th{class}>"), "</th>"),
            false => self.element(&format!("<td{class}>"), "</td>"),
        }
    }

    /// An address that a browser may not open is shown behind the text.
    fn start_link(&mut self, address: &CowStr<'_>) {
        match safe_address(address) {
            Some(address) if !self.in_link => {
                let mut link = "<a rel=\"noopener noreferrer nofollow\" target=\"_blank\" href=\"".to_owned();
                push_text(&mut link, address);
                link.push_str("\">");
                self.element(&link, "</a>");
                self.in_link = self.open.last() == Some(&"</a>");
            }
            _ => {
                self.element("", "");
                if !address.is_empty() {
                    self.out.push_str("<span class=\"address\">[");
                    push_text(&mut self.out, crate::text::beginning(address, 300));
                    self.out.push_str("]</span> ");
                }
            }
        }
    }
}

fn fenced(code: &str, language: &str) -> Markup {
    let is_diff = matches!(language, "diff" | "patch");
    html! {
        figure.code data-language=(crate::text::beginning(language, 30)) {
            @if is_diff { (crate::diff::diff_block(code)) } @else { (code_block(code, language)) }
        }
    }
}

fn language(kind: &CodeBlockKind<'_>) -> String {
    match kind {
        CodeBlockKind::Fenced(info) => {
            let name = info.split([' ', ',', '{']).next().unwrap_or_default();
            name.chars().filter(|ch| ch.is_ascii_alphanumeric() || "+#-_.".contains(*ch)).collect()
        }
        CodeBlockKind::Indented => String::new(),
    }
}

/// Headings of messages are below those of the page.
fn heading(level: HeadingLevel) -> (&'static str, &'static str) {
    match level {
        HeadingLevel::H1 => ("<h3>", "</h3>"),
        HeadingLevel::H2 => ("<h4>", "</h4>"),
        HeadingLevel::H3 => ("<h5>", "</h5>"),
        _ => ("<h6>", "</h6>"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(markdown(text).into_string(), format!("<div class=\"markdown\">{expected}</div>"));
    }

    #[test]
    fn blocks_and_inlines() {
        check("# A *b*", "<h3>A <em>b</em></h3>");
        check("a **b** ~~c~~ `d<`", "<p>a <strong>b</strong> <del>c</del> <code>d&lt;</code></p>");
        check("- a\n- [x] b", "<ul><li>a</li><li>☑ b</li></ul>");
        check("3. a", "<ol start=\"3\"><li>a</li></ol>");
        check(
            "|a|b|\n|-|-:|\n|1|2|",
            "<div class=\"table\"><table><thead><tr><th>a</th><th class=\"right\">b</th></tr></thead><tbody>\
             <tr><td>1</td><td class=\"right\">2</td></tr></tbody></table></div>",
        );
        check(
            "```rust\nfn\n```",
            "<figure class=\"code\" data-language=\"rust\"><pre><code><span class=\"t-keyword\">fn</span></code></pre></figure>",
        );
    }

    #[test]
    fn html_is_text() {
        check("a <b onclick=x>c</b>", "<p>a &lt;b onclick=x&gt;c&lt;/b&gt;</p>");
        let block = markdown("<script>\nalert(1)\n</script>").into_string();
        assert!(!block.contains("<script") && block.contains("&lt;"), "{block}");
    }

    #[test]
    fn links_open_only_safe_addresses() {
        check(
            "[a](https://example.org/?x=1&y)",
            "<p><a rel=\"noopener noreferrer nofollow\" target=\"_blank\" href=\"https://example.org/?x=1&amp;y\">a</a></p>",
        );
        check("[a](javascript:x)", "<p><span class=\"address\">[javascript:x]</span> a</p>");
        let image = markdown("![a](https://example.org/x.png)").into_string();
        assert!(image.contains("<a ") && !image.contains("<img"), "{image}");
        let nested = markdown("[![a](https://example.org/x.png)](https://example.org)").into_string();
        assert_eq!(nested.matches("<a ").count(), 1);
    }

    #[test]
    fn deep_nesting_is_flat_beyond_a_limit() {
        let text = "> ".repeat(5_000) + "deep";
        let markup = markdown(&text).into_string();
        assert!(markup.contains("deep") && markup.matches("<blockquote>").count() <= MAX_DEPTH);
        assert_eq!(markup.matches("<blockquote>").count(), markup.matches("</blockquote>").count());
    }

    #[test]
    fn a_very_long_text_is_shown_as_it_is() {
        assert!(markdown(&"*a* ".repeat(100_000)).into_string().contains("Show all"));
    }
}
