//! Reads one settings file: its keys with their lines, and its problems. Messages never contain an invalid value: it may be a
//! secret.

use std::path::{Path, PathBuf};

use osier_tools::read_regular_text;
use serde::Deserialize;
use toml::Value;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::kind::SettingKind;
use super::table::{KeyLookup, SettingKey, closest_name, look_up_key};

/// Maximum size of a settings file.
pub(crate) const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// The key whose names contain dots.
const KEY_BINDINGS: &str = "keys.NAME";

/// A known key with a valid value.
#[derive(Clone)]
pub struct ParsedSetting {
    /// The parts of the key, with actual names instead of `NAME`.
    pub path: Vec<String>,
    pub key: &'static SettingKey,
    pub value: Value,
    pub line: usize,
}

/// Omits the value, which may be a secret.
impl std::fmt::Debug for ParsedSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", dotted_key(&self.path), self.line)
    }
}

/// A problem in a file. An unknown key is only a warning; all others are fatal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsProblem {
    pub file: PathBuf,
    pub line: Option<usize>,
    pub text: String,
    pub is_fatal: bool,
}

/// The contents of a settings file.
#[derive(Debug, Clone, Default)]
pub(super) struct ParsedSettings {
    pub settings: Vec<ParsedSetting>,
    pub problems: Vec<SettingsProblem>,
}

/// A key as it is written in a file.
pub fn dotted_key(path: &[String]) -> String {
    let is_bare = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    };
    let quoted =
        |word: &String| if is_bare(word) { word.clone() } else { Value::from(word.as_str()).to_string() };
    path.iter().map(quoted).collect::<Vec<_>>().join(".")
}

/// Reads a file. A missing file is empty.
pub(super) fn read_file(path: &Path) -> ParsedSettings {
    let fatal = |text: String| ParsedSettings {
        settings: Vec::new(),
        problems: vec![SettingsProblem { file: path.to_owned(), line: None, text, is_fatal: true }],
    };
    match read_text(path) {
        Ok(Some(text)) => parse(path, &text),
        Ok(None) => ParsedSettings::default(),
        Err(error) => fatal(format!("cannot read the settings: {error}")),
    }
}

fn read_text(path: &Path) -> std::io::Result<Option<String>> {
    match read_regular_text(path, MAX_SETTINGS_BYTES) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

pub(super) fn parse(file: &Path, text: &str) -> ParsedSettings {
    let mut reader = SettingsParser { file, text, parsed: ParsedSettings::default() };
    match DeTable::parse(text) {
        Ok(table) => reader.parse_table(&mut Vec::new(), table.into_inner()),
        Err(error) => {
            let at = error.span().map(|span| span.start);
            let line = at.map(|at| reader.line_number(at));
            reader.add_problem(line, format!("invalid TOML: {}", error.message()), true);
        }
    }
    reader.parsed
}

struct SettingsParser<'t> {
    file: &'t Path,
    text: &'t str,
    parsed: ParsedSettings,
}

impl SettingsParser<'_> {
    fn line_number(&self, at: usize) -> usize {
        1 + self.text.bytes().take(at).filter(|byte| *byte == b'\n').count()
    }

    fn add_problem(&mut self, line: Option<usize>, text: String, is_fatal: bool) {
        self.parsed.problems.push(SettingsProblem { file: self.file.to_owned(), line, text, is_fatal });
    }

    fn parse_table(&mut self, path: &mut Vec<String>, table: DeTable<'_>) {
        let mut entries: Vec<_> = table.into_iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let line = self.line_number(key.span().start);
            path.push(key.into_inner().into_owned());
            match (look_up_key(path), value.get_ref()) {
                (KeyLookup::Key(key), DeValue::Table(_)) if key.name == KEY_BINDINGS => {
                    self.parse_dotted_names(&path.clone(), key, value);
                }
                (KeyLookup::Key(key), _) => self.parse_value(path, key, value, line),
                (KeyLookup::Table, DeValue::Table(_)) => {
                    if let DeValue::Table(table) = value.into_inner() {
                        self.parse_table(path, table);
                    }
                }
                (KeyLookup::Table, _) => {
                    self.add_problem(Some(line), format!("{} must be a table", dotted_key(path)), true);
                }
                (KeyLookup::Unknown(names), _) => self.add_unknown_key(path, &names, line),
            }
            path.pop();
        }
    }

    /// Joins names that contain dots: TOML parses them as nested tables unless they are quoted.
    fn parse_dotted_names(
        &mut self,
        path: &[String],
        key: &'static SettingKey,
        value: toml::Spanned<DeValue<'_>>,
    ) {
        let DeValue::Table(table) = value.into_inner() else { return };
        for (word, value) in table {
            let line = self.line_number(word.span().start);
            let mut path = path.to_vec();
            if let Some(name) = path.last_mut() {
                *name += &format!(".{}", word.get_ref());
            }
            match value.get_ref() {
                DeValue::Table(_) => self.parse_dotted_names(&path, key, value),
                _ => self.parse_value(&path, key, value, line),
            }
        }
    }

    fn add_unknown_key(&mut self, path: &[String], names: &[&str], line: usize) {
        let word = path.last().map(String::as_str).unwrap_or_default();
        let hint = closest_name(word, names).map(|near| {
            let above = &path[..path.len().saturating_sub(1)];
            let near: Vec<String> = above.iter().cloned().chain([near.to_owned()]).collect();
            format!("; did you mean {}?", dotted_key(&near))
        });
        self.add_problem(
            Some(line),
            format!("unknown key {}{}", dotted_key(path), hint.unwrap_or_default()),
            false,
        );
    }

    fn parse_value(
        &mut self,
        path: &[String],
        key: &'static SettingKey,
        value: toml::Spanned<DeValue<'_>>,
        line: usize,
    ) {
        let value = match (key.kind, value.get_ref()) {
            (SettingKind::Models, DeValue::Array(_)) => self.parse_models(path, value),
            _ => Value::deserialize(ValueDeserializer::from(value)).ok(),
        };
        let problem = value.as_ref().map(|value| key.kind.check(value));
        match (value, problem) {
            (Some(value), Some(None)) => {
                self.parsed.settings.push(ParsedSetting { path: path.to_vec(), key, value, line });
            }
            (_, problem) => {
                let text = problem.flatten().unwrap_or_else(|| format!("must be {}", key.kind));
                self.add_problem(Some(line), format!("{} {text}", dotted_key(path)), true);
            }
        }
    }

    /// The tables of the list, with only the known keys.
    fn parse_models(&mut self, path: &[String], list: toml::Spanned<DeValue<'_>>) -> Option<Value> {
        let DeValue::Array(items) = list.into_inner() else { return None };
        let mut models = Vec::new();
        for item in items {
            let line = self.line_number(item.span().start);
            let DeValue::Table(table) = item.into_inner() else { return None };
            let before = self.parsed.settings.len();
            self.parse_table(&mut path.to_vec(), table);
            let found = self.parsed.settings.split_off(before);
            let model: toml::Table =
                found.into_iter().filter_map(|mut found| Some((found.path.pop()?, found.value))).collect();
            if !model.contains_key("id") {
                self.add_problem(Some(line), format!("a model in {} has no id", dotted_key(path)), true);
            }
            models.push(Value::Table(model));
        }
        Some(Value::Array(models))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_testkit::{Expect, expect};

    fn check(text: &str, expect: Expect) {
        let read = parse(Path::new("f"), text);
        let mut output = String::new();
        for found in &read.settings {
            output += &format!("{}: {} = {}\n", found.line, dotted_key(&found.path), found.value);
        }
        for problem in &read.problems {
            let stops = if problem.is_fatal { "!" } else { "?" };
            let line = problem.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
            output += &format!("{stops} {line}: {}\n", problem.text);
        }
        expect.assert_eq(&output);
    }

    #[test]
    fn names_with_dots_may_be_quoted_or_not() {
        check(
            "[keys]\n'tree.label' = 'x'\ntree.mark = 'y'\ntree.filter.all = 'z'\ntree.up = 3\n",
            expect![[r#"
                2: keys."tree.label" = "x"
                4: keys."tree.filter.all" = "z"
                3: keys."tree.mark" = "y"
                ! 5: keys."tree.up" must be a string
            "#]],
        );
    }

    #[test]
    fn each_key_is_found_with_its_line() {
        check(
            r#"
# a comment
thinking = "low"
retry.attempts = 2
[providers.local]
base_url = "http://x"
headers = { a = "1", "b c" = "2" }
compat = { store = true }
[[providers.local.models]]
id = "m"
price = { input = 1, output = 2 }
[[providers.local.models]]
id = "n"
thinking = { style = "effort", levels = ["low"] }
"#,
            expect![[r#"
                3: thinking = "low"
                4: retry.attempts = 2
                6: providers.local.base_url = "http://x"
                7: providers.local.headers.a = "1"
                7: providers.local.headers."b c" = "2"
                8: providers.local.compat = { store = true }
                9: providers.local.models = [{ id = "m", price = { input = 1, output = 2 } }, { id = "n", thinking = { levels = ["low"], style = "effort" } }]
            "#]],
        );
    }

    #[test]
    fn unknown_keys_are_warnings_with_a_suggestion() {
        check(
            "modle = 'x'\nzzz = 1\n[retry]\natempts = 3\n[providers.a]\nbase_ulr = 'x'\n[[providers.a.models]]\nid = 'm'\ncontext = 1\n[sounds]\n",
            expect![[r#"
                7: providers.a.models = [{ id = "m" }]
                ? 1: unknown key modle; did you mean model?
                ? 2: unknown key zzz
                ? 4: unknown key retry.atempts; did you mean retry.attempts?
                ? 6: unknown key providers.a.base_ulr; did you mean providers.a.base_url?
                ? 9: unknown key providers.a.models.context; did you mean providers.a.models.context_window?
                ? 10: unknown key sounds
            "#]],
        );
    }

    #[test]
    fn invalid_values_are_reported_with_what_is_allowed_and_never_repeated() {
        check(
            r#"
durability = "hunter2"
model = 7
backtracking = "yes"
tools = "bash"
retry = 3
[providers]
a = "hunter2"
[providers.b]
api_key_command = ["hunter2"]
compat = { hunter = true }
models = [{ name = "no id" }, { id = "x", context_window = -1, thinking = { style = "loud" } }]
answer_timeout = 0
"#,
            expect![[r#"
                12: providers.b.models = [{ name = "no id" }, { id = "x" }]
                ! 2: durability must be "os", "turn" or "always"
                ! 3: model must be a string
                ! 4: backtracking must be true or false
                ! 5: tools must be a list of strings
                ! 6: retry must be a table
                ! 8: providers.a must be a table
                ! 10: providers.b.api_key_command must be a string
                ! 11: providers.b.compat must be a table of switches: unknown field `hunter`, expected one of `developer_role`, `max_tokens_field`, `stream_options`, `reasoning`, `reasoning_back`, `store`, `prompt_cache_key`, `cache_control`, `tool_result_images`, `null_content`, `bound_thinking`
                ! 12: a model in providers.b.models has no id
                ! 12: providers.b.models.context_window must be a whole number from 1 to 1000000000
                ! 12: providers.b.models.thinking must be true, false or a table: unknown variant `loud`, expected one of `none`, `budget`, `adaptive`, `effort`
                ! 13: providers.b.answer_timeout must be a whole number from 1 to 86400
            "#]],
        );
    }

    #[test]
    fn a_syntax_error_is_reported_with_its_line_but_not_its_text() {
        check(
            "a = 1\nkey = \"hunter2\n",
            expect![[r#"
            ! 2: invalid TOML: invalid basic string, expected `"`
        "#]],
        );
        check(
            "model = 'a'\nmodel = 'b'\n",
            expect![[r#"
            ! 2: invalid TOML: duplicate key
        "#]],
        );
    }

    #[test]
    fn pipes_folders_and_huge_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        let huge = folder.path().join("huge");
        std::fs::write(&huge, "#".repeat(MAX_SETTINGS_BYTES as usize + 1)).unwrap();
        for path in [pipe, huge, folder.path().to_owned()] {
            let read = read_file(&path);
            assert!(read.settings.is_empty() && read.problems[0].is_fatal, "{path:?}: {:?}", read.problems);
        }
        assert!(read_file(&folder.path().join("none")).problems.is_empty());
    }
}
