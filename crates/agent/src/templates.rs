//! Prompt templates: Markdown files that `/name` expands. `$1`, `$2`, … are single arguments, `$@` and
//! `$ARGUMENTS` are everything after the name, `${@:2}` and `${@:2:3}` are a range of arguments.

use std::path::{Path, PathBuf};

use crate::frontmatter::MarkdownFile;
use crate::prompt_library::{FileCheck, PromptFolder};
use crate::text_file::{self, FileProblem};

/// A prompt template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub name: String,
    /// From the front matter, or the first line of the body.
    pub description: String,
    /// Describes the arguments.
    pub argument_hint: Option<String>,
    /// Empty for a built-in template.
    pub path: PathBuf,
    body: String,
}

/// The text of `/init`.
const INIT: &str = include_str!("templates/init.md");

/// The built-in templates.
pub(crate) fn builtin() -> Vec<Template> {
    vec![Template::parse("init", Path::new(""), INIT).0]
}

/// Finds the templates in these folders, sorted by name. Later folders take precedence.
pub fn find_templates(folders: &[PromptFolder]) -> (Vec<Template>, Vec<FileProblem>) {
    let (mut templates, mut problems): (Vec<Template>, Vec<FileProblem>) = Default::default();
    let list = |folder: &PromptFolder| text_file::list_folder(&folder.path);
    let paths = folders.iter().flat_map(|folder| list(folder).into_iter().map(move |path| (folder, path)));
    for (folder, path) in paths {
        let is_markdown = path.extension().is_some_and(|extension| extension == "md") && path.is_file();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()).filter(|_| is_markdown) else {
            continue;
        };
        match Template::read(name, &path, folder.check.as_ref()) {
            Ok((template, problem)) => {
                problems.extend(problem);
                templates.retain(|known| known.name != template.name);
                templates.push(template);
            }
            Err(problem) => problems.push(problem),
        }
    }
    templates.sort_by(|a, b| a.name.cmp(&b.name));
    (templates, problems)
}

impl Template {
    fn read(
        name: &str,
        path: &Path,
        check: Option<&FileCheck>,
    ) -> Result<(Template, Option<FileProblem>), FileProblem> {
        Ok(Template::parse(name, path, &text_file::read_text(path, check)?))
    }

    fn parse(name: &str, path: &Path, text: &str) -> (Template, Option<FileProblem>) {
        let file = MarkdownFile::parse(text);
        let first_line = || file.body.lines().map(str::trim).find(|line| !line.is_empty());
        let template = Template {
            name: name.to_owned(),
            description: file.field("description").or_else(first_line).unwrap_or_default().to_owned(),
            argument_hint: file.field("argument-hint").map(str::to_owned),
            path: path.to_owned(),
            body: file.body.trim().to_owned(),
        };
        (template, file.problem.map(|what| FileProblem { path: path.to_owned(), message: what }))
    }

    /// The template with the arguments inserted. If it has no placeholder, the arguments are appended.
    pub fn expand(&self, typed: &str) -> String {
        let typed = typed.trim();
        let words = split_words(typed);
        let (mut out, mut rest, mut taken) = (String::new(), self.body.as_str(), false);
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            match parse_placeholder(rest) {
                Some((length, place)) => {
                    taken = true;
                    out.push_str(&place.expand(typed, &words));
                    rest = &rest[length..];
                }
                None => {
                    out.push('$');
                    rest = &rest[1..];
                }
            }
        }
        out.push_str(rest);
        if taken || typed.is_empty() { out } else { format!("{out}\n\n{typed}") }
    }
}

/// A placeholder for arguments.
#[derive(Debug, PartialEq, Eq)]
enum Placeholder {
    Word(usize),
    All,
    /// A range: the first argument and the count.
    Range(usize, usize),
}

impl Placeholder {
    fn expand(&self, typed: &str, words: &[String]) -> String {
        match *self {
            Placeholder::All => typed.to_owned(),
            Placeholder::Word(number) => nth_word(words, number).to_owned(),
            Placeholder::Range(from, count) => {
                let chosen = words.iter().skip(from.saturating_sub(1)).take(count);
                chosen.map(String::as_str).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

fn nth_word(words: &[String], number: usize) -> &str {
    number.checked_sub(1).and_then(|at| words.get(at)).map_or("", String::as_str)
}

/// Parses the placeholder that a text starts with, and returns its length.
fn parse_placeholder(text: &str) -> Option<(usize, Placeholder)> {
    if text.starts_with("$ARGUMENTS") {
        return Some(("$ARGUMENTS".len(), Placeholder::All));
    }
    if text.starts_with("$@") {
        return Some((2, Placeholder::All));
    }
    if let Some(inner) = text.strip_prefix("${@:") {
        let (inner, _) = inner.split_once('}')?;
        let (from, count) = match inner.split_once(':') {
            Some((from, count)) => (from, count.parse().ok()?),
            None => (inner, usize::MAX),
        };
        return Some(("${@:".len() + inner.len() + 1, Placeholder::Range(from.parse().ok()?, count)));
    }
    let digits: String = text[1..].chars().take_while(char::is_ascii_digit).collect();
    let number = digits.parse().ok().filter(|number| *number > 0)?;
    Some((1 + digits.len(), Placeholder::Word(number)))
}

/// Splits arguments like a shell: quotes keep spaces together.
fn split_words(typed: &str) -> Vec<String> {
    let (mut words, mut word, mut quote): (Vec<String>, Option<String>, Option<char>) = Default::default();
    for c in typed.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(body: &str) -> Template {
        let (name, description) = (String::new(), String::new());
        Template { name, description, argument_hint: None, path: PathBuf::new(), body: body.to_owned() }
    }

    #[test]
    fn placeholders_are_replaced_by_arguments() {
        let expand = |body: &str, typed: &str| template(body).expand(typed);
        assert_eq!(expand("$1 then $2, not $3.", "a 'b c'"), "a then b c, not .");
        assert_eq!(expand("all: $@ / $ARGUMENTS", " a  \"b c\" "), "all: a  \"b c\" / a  \"b c\"");
        assert_eq!(expand("${@:2} | ${@:1:2} | $10", "a b c"), "b c | a b | ");
        assert_eq!(expand("$5.00 and $HOME ${@:x} $", "a"), ".00 and $HOME ${@:x} $");
    }

    #[test]
    fn unused_arguments_are_appended_and_arguments_are_not_expanded() {
        assert_eq!(template("Fix it.").expand("now please"), "Fix it.\n\nnow please");
        assert_eq!(template("Fix it.").expand("  "), "Fix it.");
        assert_eq!(template("Do $1").expand("'$2 $@' x"), "Do $2 $@");
    }

    #[test]
    fn later_folders_take_precedence_and_bad_files_are_reported() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| root.path().join(name);
        for (file, text) in [
            ("user/fix.md", "---\ndescription: of the user\nargument-hint: <file>\n---\nFix $1"),
            ("user/plan.md", "\nMake a plan.\n"),
            ("user/notes.txt", "no template"),
            ("project/fix.md", "---\nno colon\n---\nFix $1 here"),
            ("project/bad.md", "\u{0}\u{0}"),
        ] {
            std::fs::create_dir_all(folder(file).parent().unwrap()).unwrap();
            std::fs::write(folder(file), text).unwrap();
        }
        let (templates, problems) =
            find_templates(&["user", "project", "nowhere"].map(|name| PromptFolder::from(folder(name))));
        let shown: Vec<(&str, &str)> =
            templates.iter().map(|template| (&*template.name, &*template.description)).collect();
        assert_eq!(shown, [("fix", "Fix $1 here"), ("plan", "Make a plan.")]);
        let reported: Vec<String> = problems
            .iter()
            .map(|problem| problem.to_string().replace(&*root.path().to_string_lossy(), ""))
            .collect();
        assert_eq!(
            reported,
            ["/project/bad.md: not a text file", "/project/fix.md: line 2 is not `key: value`"]
        );
    }
}
