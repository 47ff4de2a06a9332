//! Text as a terminal shows it: its width in columns, wrapping and cutting with escape sequences, graphemes; and bytes as text.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rquickjs::prelude::Func;
use rquickjs::{ArrayBuffer, Ctx, Exception, Object};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::bytes;

/// The columns of a tab.
const TAB: usize = 3;

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Piece<'a> {
    /// An escape sequence. It has no width.
    Escape(&'a str),
    Grapheme(&'a str, usize),
}

/// The length of the escape sequence at the start of a text; 0 if there is none.
fn escape_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&0x1b) {
        return 0;
    }
    let ends_at = |end: Option<usize>| end.map_or(bytes.len(), |at| at + 1);
    match bytes.get(1) {
        Some(b'[') => {
            ends_at(bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte)).map(|at| at + 2))
        }
        // OSC, APC, DCS and PM end with BEL or ST.
        Some(b']' | b'_' | b'P' | b'^') => {
            let end =
                (2..bytes.len()).find(|at| bytes[*at] == 7 || (bytes[*at] == b'\\' && bytes[at - 1] == 0x1b));
            ends_at(end)
        }
        Some(byte) if byte.is_ascii() => 2,
        _ => 1,
    }
}

fn grapheme_width(grapheme: &str) -> usize {
    match grapheme {
        "\t" => TAB,
        _ if grapheme.chars().all(char::is_control) => 0,
        _ => grapheme.width(),
    }
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let length = escape_length(rest);
        if length > 0 {
            pieces.push(Piece::Escape(&rest[..length]));
            rest = &rest[length..];
            continue;
        }
        let end = rest.find('\u{1b}').unwrap_or(rest.len());
        pieces.extend(rest[..end].graphemes(true).map(|part| Piece::Grapheme(part, grapheme_width(part))));
        rest = &rest[end..];
    }
    pieces
}

/// The columns of a text without its escape sequences.
pub(super) fn width(text: &str) -> usize {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return text.len();
    }
    let of_piece = |piece: &Piece<'_>| match piece {
        Piece::Escape(_) => 0,
        Piece::Grapheme(_, width) => *width,
    };
    pieces(text).iter().map(of_piece).sum()
}

/// The styles that are on, as the sequences that set them.
#[derive(Debug, Default)]
struct ActiveStyles(Vec<String>);

impl ActiveStyles {
    fn apply(&mut self, escape: &str) {
        let Some(codes) = escape.strip_prefix("\u{1b}[").and_then(|rest| rest.strip_suffix('m')) else {
            return;
        };
        if codes.is_empty() || codes == "0" {
            self.0.clear();
            return;
        }
        let group = style_group(codes);
        self.0.retain(|known| known.strip_prefix("\u{1b}[").is_none_or(|known| style_group(known) != group));
        if !matches!(codes, "22" | "23" | "24" | "25" | "27" | "28" | "29" | "39" | "49") {
            self.0.push(escape.to_owned());
        }
    }

    fn sequences(&self) -> String {
        self.0.concat()
    }
}

/// Styles of one group replace each other.
fn style_group(codes: &str) -> &'static str {
    let first = codes.split([';', 'm']).next().and_then(|code| code.parse::<u32>().ok());
    match first {
        Some(1 | 2 | 22) => "weight",
        Some(3 | 23) => "italic",
        Some(4 | 21 | 24) => "underline",
        Some(7 | 27) => "inverse",
        Some(9 | 29) => "strike",
        Some(30..=39 | 90..=97) => "foreground",
        Some(40..=49 | 100..=107) => "background",
        _ => "other",
    }
}

/// The widest text that is filled up with spaces.
const MAX_PADDED: usize = 1 << 20;

/// Shortens a text to a number of columns, with an ellipsis if something is left out.
pub(super) fn truncate(text: &str, max: usize, ellipsis: &str, pad: bool) -> String {
    let full = width(text);
    let padding = |used: usize| if pad { " ".repeat(max.saturating_sub(used)) } else { String::new() };
    if full <= max {
        return format!("{text}{}", padding(full));
    }
    if width(ellipsis) > max {
        return truncate(ellipsis, max, "", pad);
    }
    let room = max - width(ellipsis);
    let (mut kept, mut used, mut styled) = (String::new(), 0, false);
    for piece in pieces(text) {
        match piece {
            Piece::Escape(escape) => {
                styled = true;
                kept.push_str(escape);
            }
            Piece::Grapheme(_, size) if used + size > room => break,
            Piece::Grapheme(part, size) => {
                kept.push_str(part);
                used += size;
            }
        }
    }
    let reset = if styled { "\u{1b}[0m" } else { "" };
    let used = used + width(ellipsis);
    format!("{kept}{reset}{ellipsis}{}", padding(used))
}

/// The part of a text from a column on. A wide character at the end is left out if `strict`.
pub(super) fn slice(text: &str, start: usize, length: usize, strict: bool) -> String {
    let (mut result, mut column, mut before) = (String::new(), 0, ActiveStyles::default());
    for piece in pieces(text) {
        match piece {
            Piece::Escape(escape) if column < start => before.apply(escape),
            Piece::Escape(escape) => result.push_str(escape),
            Piece::Grapheme(part, size) => {
                let end = if strict { column + size } else { column + 1 };
                if column >= start && end <= start + length {
                    if result.is_empty() {
                        result.push_str(&before.sequences());
                    }
                    result.push_str(part);
                }
                column += size;
            }
        }
    }
    result
}

/// Breaks a text into lines of at most `max` columns, at spaces where possible. Styles continue on the next line.
pub(super) fn wrap(text: &str, max: usize) -> Vec<String> {
    let max = max.max(1);
    let mut styles = ActiveStyles::default();
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        wrap_paragraph(paragraph.trim_end_matches('\r'), max, &mut styles, &mut lines);
    }
    lines
}

/// Fills lines with words.
struct LineFiller<'a> {
    max: usize,
    styles: &'a mut ActiveStyles,
    lines: &'a mut Vec<String>,
    line: String,
    used: usize,
    spaces: String,
}

impl LineFiller<'_> {
    fn break_line(&mut self) {
        self.lines.push(std::mem::replace(&mut self.line, self.styles.sequences()));
        self.used = 0;
    }

    /// Adds a word with its escape sequences to the line, or starts a line with it.
    fn add(&mut self, word: &str) {
        let (size, gap) = (width(word), width(&self.spaces));
        if size > 0 && self.used > 0 && self.used + gap + size > self.max {
            self.spaces.clear();
            self.break_line();
        } else if size > 0 {
            self.line.push_str(&std::mem::take(&mut self.spaces));
            self.used += gap;
        }
        for piece in pieces(word) {
            match piece {
                Piece::Escape(escape) => {
                    self.styles.apply(escape);
                    self.line.push_str(escape);
                }
                Piece::Grapheme(part, size) => {
                    if self.used + size > self.max && self.used > 0 {
                        self.break_line();
                    }
                    self.line.push_str(part);
                    self.used += size;
                }
            }
        }
    }
}

fn wrap_paragraph(text: &str, max: usize, styles: &mut ActiveStyles, lines: &mut Vec<String>) {
    let line = styles.sequences();
    let mut filler = LineFiller { max, styles, lines, line, used: 0, spaces: String::new() };
    let mut word = String::new();
    for piece in pieces(text) {
        match piece {
            Piece::Grapheme(" " | "\t", _) => {
                filler.add(&std::mem::take(&mut word));
                filler.spaces.push_str(if piece == Piece::Grapheme("\t", TAB) { "\t" } else { " " });
            }
            Piece::Grapheme(part, _) | Piece::Escape(part) => word.push_str(part),
        }
    }
    filler.add(&word);
    if filler.used + width(&filler.spaces) <= max {
        filler.line.push_str(&filler.spaces);
    }
    let LineFiller { line, lines, .. } = filler;
    lines.push(line);
}

/// The start of each segment in UTF-16 units, as `Intl.Segmenter` counts, and whether it is like a word.
fn segments(text: &str, granularity: &str) -> Vec<(usize, String, bool)> {
    let parts: Vec<&str> = match granularity {
        "word" => text.split_word_bounds().collect(),
        "sentence" => text.split_sentence_bounds().collect(),
        _ => text.graphemes(true).collect(),
    };
    let mut at = 0;
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        all.push((at, part.to_owned(), part.chars().any(char::is_alphanumeric)));
        at += part.encode_utf16().count();
    }
    all
}

/// The bytes of a text in an encoding of `Buffer`.
fn encode(text: &str, encoding: &str) -> Result<Vec<u8>, String> {
    Ok(match encoding {
        "utf8" | "utf-8" => text.as_bytes().to_vec(),
        "hex" => {
            let digits = text.as_bytes();
            let pairs = digits.chunks_exact(2).map(|pair| std::str::from_utf8(pair).ok());
            pairs.map_while(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
        }
        "base64" | "base64url" => {
            let plain: String = text
                .chars()
                .filter_map(|char| match char {
                    '+' => Some('-'),
                    '/' => Some('_'),
                    char if char.is_ascii_alphanumeric() || char == '-' || char == '_' => Some(char),
                    _ => None,
                })
                .collect();
            // A single character at the end holds no byte.
            let length = if plain.len() % 4 == 1 { plain.len() - 1 } else { plain.len() };
            let config = base64::engine::GeneralPurposeConfig::new()
                .with_decode_allow_trailing_bits(true)
                .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent);
            base64::engine::GeneralPurpose::new(&base64::alphabet::URL_SAFE, config)
                .decode(&plain[..length])
                .unwrap_or_default()
        }
        "latin1" | "binary" | "ascii" => text.chars().map(|char| char as u32 as u8).collect(),
        "utf16le" | "ucs2" | "utf-16le" | "ucs-2" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        _ => return Err(format!("Unknown encoding: {encoding}")),
    })
}

fn decode(bytes: &[u8], encoding: &str) -> Result<String, String> {
    Ok(match encoding {
        "utf8" | "utf-8" => String::from_utf8_lossy(bytes).into_owned(),
        "hex" => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        "base64" => STANDARD.encode(bytes),
        "base64url" => URL_SAFE_NO_PAD.encode(bytes),
        "latin1" | "binary" => bytes.iter().map(|byte| *byte as char).collect(),
        "ascii" => bytes.iter().map(|byte| (*byte & 0x7f) as char).collect(),
        "utf16le" | "ucs2" | "utf-16le" | "ucs-2" => {
            let units: Vec<u16> =
                bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            String::from_utf16_lossy(&units)
        }
        _ => return Err(format!("Unknown encoding: {encoding}")),
    })
}

/// The parts of a URL as JSON; an error if it is not one.
fn parse_url(text: &str, base: Option<&str>) -> Result<String, String> {
    let invalid = |_| "Invalid URL".to_owned();
    let url = match base {
        Some(base) => url::Url::parse(base).map_err(invalid)?.join(text).map_err(invalid)?,
        None => url::Url::parse(text).map_err(invalid)?,
    };
    Ok(describe_url(&url))
}

fn describe_url(url: &url::Url) -> String {
    use url::quirks;
    serde_json::json!({
        "href": quirks::href(url),
        "origin": quirks::origin(url),
        "protocol": quirks::protocol(url),
        "username": quirks::username(url),
        "password": quirks::password(url),
        "host": quirks::host(url),
        "hostname": quirks::hostname(url),
        "port": quirks::port(url),
        "pathname": quirks::pathname(url),
        "search": quirks::search(url),
        "hash": quirks::hash(url),
    })
    .to_string()
}

/// The URL with one part changed. A value that does not fit changes nothing.
fn change_url(href: &str, part: &str, value: &str) -> Result<String, String> {
    use url::quirks;
    let mut url = url::Url::parse(href).map_err(|_| "Invalid URL".to_owned())?;
    let _ = match part {
        "protocol" => quirks::set_protocol(&mut url, value),
        "username" => quirks::set_username(&mut url, value),
        "password" => quirks::set_password(&mut url, value),
        "host" => quirks::set_host(&mut url, value),
        "hostname" => quirks::set_hostname(&mut url, value),
        "port" => quirks::set_port(&mut url, value),
        "pathname" => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        _ => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
    };
    Ok(describe_url(&url))
}

fn thrown<T>(ctx: &Ctx<'_>, result: Result<T, String>) -> rquickjs::Result<T> {
    result.map_err(|message| Exception::throw_type(ctx, &message))
}

/// `native.text`.
pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    let text = Object::new(ctx.clone())?;
    text.set("width", Func::from(|text: String| width(&text)))?;
    text.set(
        "truncate",
        Func::from(|ctx: Ctx<'js>, text: String, max: usize, ellipsis: String, pad: bool| {
            match pad && max > MAX_PADDED {
                true => Err(Exception::throw_range(&ctx, "the text would be too wide")),
                false => Ok(truncate(&text, max, &ellipsis, pad)),
            }
        }),
    )?;
    text.set(
        "slice",
        Func::from(|text: String, start: usize, length: usize, strict: bool| {
            slice(&text, start, length, strict)
        }),
    )?;
    text.set("wrap", Func::from(|text: String, max: usize| wrap(&text, max)))?;
    let split =
        |text: String, granularity: String| serde_json::json!(segments(&text, &granularity)).to_string();
    text.set("segments", Func::from(split))?;
    text.set("markdown", Func::from(|text: String| super::markdown::parse(&text)))?;
    let highlight = |code: String, language: String| super::highlight::tokens(&code, &language);
    text.set("highlight", Func::from(highlight))?;
    let to_bytes = |ctx: Ctx<'js>, text: String, encoding: String| {
        ArrayBuffer::new_copy(ctx.clone(), thrown(&ctx, encode(&text, &encoding))?)
    };
    text.set("encode", Func::from(to_bytes))?;
    let to_text = |ctx: Ctx<'js>, data: String, encoding: String| {
        thrown(&ctx, decode(&bytes::from_text(&data), &encoding))
    };
    text.set("decode", Func::from(to_text))?;
    let is_valid = |data: String| std::str::from_utf8(&bytes::from_text(&data)).is_ok();
    text.set("isUtf8", Func::from(is_valid))?;
    let to_url =
        |ctx: Ctx<'js>, text: String, base: Option<String>| thrown(&ctx, parse_url(&text, base.as_deref()));
    text.set("parseUrl", Func::from(to_url))?;
    let change = |ctx: Ctx<'js>, href: String, part: String, value: String| {
        thrown(&ctx, change_url(&href, &part, &value))
    };
    text.set("changeUrl", Func::from(change))?;
    native.set("text", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_a_terminal() {
        for (text, columns) in [
            ("abc", 3),
            ("\u{1b}[31mred\u{1b}[0m", 3),
            ("日本", 4),
            ("e\u{301}", 1),
            ("👨‍👩‍👧", 2),
            ("a\tb", 5),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{7}", 4),
            ("\u{1b}_pi:c\u{7}x", 1),
        ] {
            assert_eq!(width(text), columns, "{text:?}");
        }
    }

    #[test]
    fn long_texts_are_cut_at_graphemes() {
        assert_eq!(truncate("hello world", 8, "...", false), "hello...");
        assert_eq!(truncate("日本語", 5, "…", true), "日本…");
        assert_eq!(truncate("ab", 4, "...", true), "ab  ");
        assert_eq!(truncate("\u{1b}[31mhello\u{1b}[0m", 3, "", false), "\u{1b}[31mhel\u{1b}[0m");
        assert_eq!(truncate("abc", 0, "...", false), "");
    }

    #[test]
    fn lines_break_at_spaces_and_keep_their_style() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("a\n\nb", 5), ["a", "", "b"]);
        let lines = wrap("\u{1b}[31mred text\u{1b}[39m plain", 4);
        assert_eq!(lines, ["\u{1b}[31mred", "\u{1b}[31mtext\u{1b}[39m", "plai", "n"]);
        assert!(wrap("日本語日本語", 5).iter().all(|line| width(line) <= 5));
    }

    #[test]
    fn columns_are_cut_out() {
        assert_eq!((slice("日本", 0, 1, false), slice("日本", 0, 1, true)), ("日".to_owned(), String::new()));
        assert_eq!(truncate("日本語", 2, "...", false), "..");
        assert_eq!(slice("hello world", 6, 3, false), "wor");
        assert_eq!(slice("\u{1b}[31mhello", 2, 2, false), "\u{1b}[31mll");
    }

    #[test]
    fn encodings_lead_back() {
        for encoding in ["utf8", "hex", "base64", "base64url", "utf16le"] {
            let bytes = encode(&decode("grün".as_bytes(), encoding).unwrap(), encoding).unwrap();
            if encoding != "utf16le" {
                assert_eq!(bytes, "grün".as_bytes(), "{encoding}");
            }
        }
        assert_eq!(encode("aGk", "base64").unwrap(), b"hi");
        assert_eq!(encode("_-8=", "base64").unwrap(), encode("/+8", "base64").unwrap());
        assert!(encode("", "klingon").is_err());
    }

    #[test]
    fn urls_have_their_parts() {
        let parts: serde_json::Value =
            serde_json::from_str(&parse_url("../b?q=1#h", Some("https://u:p@x.org:81/a/c")).unwrap())
                .unwrap();
        assert_eq!(parts["href"], "https://u:p@x.org:81/b?q=1#h");
        assert_eq!((&parts["port"], &parts["search"]), (&"81".into(), &"?q=1".into()));
        assert!(parse_url("no url", None).is_err());
        assert!(change_url("http://a/", "port", "8080").unwrap().contains("http://a:8080/"));
    }
}
