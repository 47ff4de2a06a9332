//! A tool call in one line, as its result is shown in the tree: `[read: notes.txt:10-20]`.

use std::borrow::Cow;

use crate::scan::RawJson;

use super::sanitize::one_line;

/// A tool call of an assistant message, with raw arguments.
#[derive(Debug, Clone)]
pub struct RawToolCall<'a> {
    pub name: Cow<'a, str>,
    pub arguments: RawJson<'a>,
}

impl<'a> RawToolCall<'a> {
    /// Reads a `toolCall` block of a message. Returns the call id and the call.
    pub fn parse_block(block: RawJson<'a>) -> Option<(Cow<'a, str>, RawToolCall<'a>)> {
        let (mut kind, mut id, mut name, mut arguments) = (None, None, None, None);
        block.each_field(|key, value| match key {
            "type" => kind = value.text(),
            "id" => id = value.text(),
            "name" => name = value.text(),
            "arguments" => arguments = Some(value),
            _ => {}
        });
        if kind.as_deref() != Some("toolCall") {
            return None;
        }
        let arguments = arguments.or_else(|| RawJson::parse(b"{}").ok())?;
        Some((id.unwrap_or_default(), RawToolCall { name: name.unwrap_or_default(), arguments }))
    }

    /// The call in one line. `home` is the user's home directory, shown as `~`.
    pub fn line(&self, home: Option<&str>) -> String {
        let text = |key: &str| self.argument(key).filter(|text| !text.is_empty());
        let path = || {
            let path = text("path").or_else(|| text("file_path"));
            path.map(|path| one_line(&abbreviate_home(&path, home), 200))
        };
        let folder = || path().unwrap_or_else(|| ".".to_owned());
        let pattern = || one_line(&text("pattern").unwrap_or_default(), 200);
        match &*self.name {
            "read" => format!("[read: {}{}]", path().unwrap_or_default(), self.lines_read()),
            name @ ("write" | "edit") => format!("[{name}: {}]", path().unwrap_or_default()),
            "bash" => format!("[bash: {}]", truncate_line(&text("command").unwrap_or_default(), 50)),
            "grep" => format!("[grep: /{}/ in {}]", pattern(), folder()),
            "find" => format!("[find: {} in {}]", pattern(), folder()),
            "ls" => format!("[ls: {}]", folder()),
            "task" if self.task_count() > 0 => match self.task_count() {
                1 => "[task: 1 task]".to_owned(),
                tasks => format!("[task: {tasks} tasks]"),
            },
            name => {
                let arguments = String::from_utf8_lossy(self.arguments.bytes());
                format!("[{}: {}]", one_line(name, 80), truncate_line(&arguments, 40))
            }
        }
    }

    /// How many tasks a call of `task` delegates.
    fn task_count(&self) -> usize {
        let mut count = 0;
        if let Some(tasks) = self.arguments.get("tasks") {
            tasks.each_item(|_| count += 1);
        }
        count
    }

    /// An argument, formatted like JavaScript's `String(…)`.
    fn argument(&self, key: &str) -> Option<Cow<'a, str>> {
        let value = self.arguments.get(key).filter(|value| !value.is_null())?;
        Some(value.text().unwrap_or_else(|| String::from_utf8_lossy(value.bytes())))
    }

    /// The line range of a `read` as `:start-end`, as far as it is given.
    fn lines_read(&self) -> String {
        let number = |text: Cow<'_, str>| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let (offset, limit) = (self.argument("offset"), self.argument("limit"));
        if offset.is_none() && limit.is_none() {
            return String::new();
        }
        let Some(start) = offset.map_or(Some(1.0), number) else { return String::new() };
        match limit.map(number) {
            None => format!(":{start}"),
            Some(None) => String::new(),
            Some(Some(count)) if start + count == 1.0 => format!(":{start}"),
            Some(Some(count)) => format!(":{start}-{}", start + count - 1.0),
        }
    }
}

/// One line of at most `max` characters, with `…` if it is truncated.
pub(crate) fn truncate_line(text: &str, max: usize) -> String {
    let mut line = one_line(text, max + 1);
    if let Some((at, _)) = line.char_indices().nth(max) {
        line.truncate(at);
        line.push('…');
    }
    line
}

fn abbreviate_home<'a>(path: &'a str, home: Option<&str>) -> Cow<'a, str> {
    let inside = home.filter(|home| !home.is_empty()).and_then(|home| path.strip_prefix(home));
    match inside {
        Some(rest) if rest.is_empty() || rest.starts_with(['/', '\\']) => Cow::Owned(format!("~{rest}")),
        _ => Cow::Borrowed(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, arguments: &str, expected: &str) {
        let call =
            RawToolCall { name: name.into(), arguments: RawJson::parse(arguments.as_bytes()).unwrap() };
        assert_eq!(call.line(Some("/home/u")), expected);
    }

    #[test]
    fn each_tool_shows_its_main_argument() {
        check("read", r#"{"path":"a.txt"}"#, "[read: a.txt]");
        check("read", r#"{"path":"a.txt","offset":10,"limit":11}"#, "[read: a.txt:10-20]");
        check("read", r#"{"path":"a.txt","limit":"5","offset":null}"#, "[read: a.txt:1-5]");
        check("read", r#"{"path":"a.txt","offset":7}"#, "[read: a.txt:7]");
        check("read", r#"{"path":"a.txt","offset":"x"}"#, "[read: a.txt]");
        check("write", r#"{"file_path":"/home/u/x/y"}"#, "[write: ~/x/y]");
        check("edit", r#"{"path":"/home/user/x"}"#, "[edit: /home/user/x]");
        check("bash", r#"{"command":"ls\n -l"}"#, "[bash: ls -l]");
        check("grep", r#"{"pattern":"a.b","path":"src"}"#, "[grep: /a.b/ in src]");
        check("find", r#"{"pattern":"*.rs"}"#, "[find: *.rs in .]");
        check("ls", "{}", "[ls: .]");
        check("task", r#"{"tasks":[{"prompt":"a"},{"prompt":"b"}]}"#, "[task: 2 tasks]");
        check("task", r#"{"tasks":[{"prompt":"a"}]}"#, "[task: 1 task]");
        check("task", r#"{"task":"a"}"#, r#"[task: {"task":"a"}]"#);
        check("todo", r#"{"items":[1,2]}"#, r#"[todo: {"items":[1,2]}]"#);
    }

    #[test]
    fn long_arguments_are_truncated_and_invalid_ones_tolerated() {
        let command = "x".repeat(51);
        check("bash", &format!(r#"{{"command":"{command}"}}"#), &format!("[bash: {}…]", "x".repeat(50)));
        check(
            "bash",
            &format!(r#"{{"command":"{}"}}"#, "x".repeat(50)),
            &format!("[bash: {}]", "x".repeat(50)),
        );
        check("mine", &format!("[{}]", "1,".repeat(40) + "1"), &format!("[mine: [{}1…]", "1,".repeat(19)));
        check("read", "null", "[read: ]");
        check("read", r#"{"path":7}"#, "[read: 7]");
    }
}
