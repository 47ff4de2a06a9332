//! The texts of the offline model, in both languages.

use osier_model::{ToolCall, ToolResultMessage};
use serde_json::Value;

use super::intent::RequestedStep;
use super::language::Language;

const SHOWN_LINES: usize = 30;
const SHOWN_CHARS: usize = 2_000;

/// A tool call with its result.
#[derive(Debug)]
pub(super) struct CompletedCall<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) result: Option<&'a ToolResultMessage>,
}

pub(super) fn introduction(language: Language) -> &'static str {
    language.select(
        "(This is Osier's offline model: built in, rules instead of a neural network. With an API key, a real model answers.)",
        "（这是 Osier 内置的离线模型：只按规则行事，不是神经网络。设置 API 密钥后，由真正的模型回答。）",
    )
}

pub(super) fn help(language: Language) -> String {
    let does = language.select(
        "I can follow simple requests with the real tools:\n\n\
         - `read README.md`, `read lines 10-20 of src/main.rs`\n\
         - `list src`, `find *.rs`, `search for fn main in src`\n\
         - `run the tests`, `$ git status`\n\
         - `write notes.txt with \"hello\"`, `replace \"a\" with \"b\" in notes.txt`\n\
         - `delegate list src; read README.md`: two sub-agents at the same time\n\n\
         Several steps can be joined with \"then\". I also answer questions from earlier output, and write summaries.",
        "我可以用真正的工具完成简单的请求：\n\n\
         - `读取 README.md`、`read lines 10-20 of src/main.rs`\n\
         - `列出 src`、`找文件 *.rs`、`搜索 main`\n\
         - `运行测试`、`$ git status`\n\
         - `把 \"你好\" 写入 notes.txt`\n\n\
         多个步骤用“然后”连接。我也能根据之前读到的内容回答，并写摘要。",
    );
    format!("{}\n\n{does}", introduction(language))
}

pub(super) fn is_greeting(text: &str) -> bool {
    let word = text.trim().trim_end_matches(['!', '.', '！', '。', '?', '？']).to_lowercase();
    [
        "hi",
        "hello",
        "hey",
        "help",
        "who are you",
        "what are you",
        "what can you do",
        "你好",
        "您好",
        "帮助",
        "你是谁",
        "你能做什么",
    ]
    .contains(&word.as_str())
}

pub(super) fn missing_tool(tool: &str, language: Language) -> String {
    match language {
        Language::English => format!("I need the tool `{tool}` for that, but it is not available here."),
        Language::Chinese => format!("这需要工具 `{tool}`，而这里没有它。"),
    }
}

pub(super) fn announce_steps(group: &[RequestedStep], language: Language) -> String {
    let one = |step: &RequestedStep| match (step, language) {
        (RequestedStep::Read { path, .. }, Language::English) => format!("read `{path}`"),
        (RequestedStep::Read { path, .. }, Language::Chinese) => format!("读取 `{path}`"),
        (RequestedStep::List { path }, Language::English) => {
            format!("list `{}`", path.as_deref().unwrap_or("."))
        }
        (RequestedStep::List { path }, Language::Chinese) => {
            format!("列出 `{}`", path.as_deref().unwrap_or("."))
        }
        (RequestedStep::Search { word, .. }, Language::English) => format!("search for `{word}`"),
        (RequestedStep::Search { word, .. }, Language::Chinese) => format!("搜索 `{word}`"),
        (RequestedStep::Find { pattern }, Language::English) => format!("find files matching `{pattern}`"),
        (RequestedStep::Find { pattern }, Language::Chinese) => format!("查找文件 `{pattern}`"),
        (RequestedStep::Run { command }, Language::English) => format!("run `{command}`"),
        (RequestedStep::Run { command }, Language::Chinese) => format!("运行 `{command}`"),
        (RequestedStep::Tests, Language::English) => "run the tests".to_owned(),
        (RequestedStep::Tests, Language::Chinese) => "运行测试".to_owned(),
        (RequestedStep::Write { path, .. }, Language::English) => format!("write `{path}`"),
        (RequestedStep::Write { path, .. }, Language::Chinese) => format!("写入 `{path}`"),
        (RequestedStep::Replace { path, .. }, Language::English) => format!("change `{path}`"),
        (RequestedStep::Replace { path, .. }, Language::Chinese) => format!("修改 `{path}`"),
        (RequestedStep::Delegate { tasks }, Language::English) => match tasks.len() {
            1 => "delegate a task".to_owned(),
            count => format!("delegate {count} tasks"),
        },
        (RequestedStep::Delegate { tasks }, Language::Chinese) => format!("委派 {} 个任务", tasks.len()),
    };
    let all: Vec<String> = group.iter().map(one).collect();
    match language {
        Language::English => format!("I will {}.", all.join(" and ")),
        Language::Chinese => format!("我来{}。", all.join("，并")),
    }
}

/// The tool results, one paragraph each.
pub(super) fn describe_results(done: &[CompletedCall<'_>], language: Language) -> String {
    done.iter().map(|done| describe_result(done, language)).collect::<Vec<_>>().join("\n\n")
}

fn describe_result(done: &CompletedCall<'_>, language: Language) -> String {
    let what = describe_call(done.call);
    let Some(result) = done.result else {
        return match language {
            Language::English => format!("{what} has no result."),
            Language::Chinese => format!("{what} 没有结果。"),
        };
    };
    let text = result.text();
    let lines = text.lines().count();
    let shown = excerpt(&text, done.call.name == "bash");
    match (language, result.is_error) {
        (Language::English, true) => format!("{what} failed:\n\n{shown}"),
        (Language::Chinese, true) => format!("{what} 没有成功：\n\n{shown}"),
        (language, false) if is_write(&done.call.name) => match language {
            Language::English => format!("Done: {what}."),
            Language::Chinese => format!("完成：{what}。"),
        },
        (Language::English, false) if text.trim().is_empty() => format!("{what} returned no output."),
        (Language::Chinese, false) if text.trim().is_empty() => format!("{what} 没有输出。"),
        (Language::English, false) => {
            format!("{what} returned {lines} line{}:\n\n{shown}", if lines == 1 { "" } else { "s" })
        }
        (Language::Chinese, false) => format!("{what} 返回 {lines} 行：\n\n{shown}"),
    }
}

fn is_write(tool: &str) -> bool {
    matches!(tool, "write" | "edit")
}

/// A short description of a call.
fn describe_call(call: &ToolCall) -> String {
    let first = ["command", "path", "pattern", "query"]
        .iter()
        .find_map(|key| call.arguments.get(*key))
        .and_then(Value::as_str);
    match first {
        Some(first) => format!("`{} {}`", call.name, shorten(first, 80)),
        None => format!("`{}`", call.name),
    }
}

fn shorten(text: &str, longest: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(longest) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// The start or the end of a text, in a code fence longer than any backtick run in the text.
fn excerpt(text: &str, from_the_end: bool) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(SHOWN_LINES);
    let shown = if from_the_end { &lines[skipped..] } else { &lines[..lines.len() - skipped] };
    let mut body = String::new();
    for line in shown {
        if body.chars().count() + line.chars().count() > SHOWN_CHARS {
            body += "…\n";
            break;
        }
        body += line;
        body.push('\n');
    }
    let more = if skipped > 0 { format!("(+{skipped})\n") } else { String::new() };
    let longest_run = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest_run + 1));
    if from_the_end {
        format!("{fence}\n{more}{body}{fence}")
    } else {
        format!("{fence}\n{body}{more}{fence}")
    }
}

/// An answer made of matching lines from earlier in the conversation.
pub(super) fn quote_earlier_lines(lines: &[(String, String)], language: Language) -> String {
    let start = language.select("From earlier in this conversation:", "根据之前的内容：");
    let lines: Vec<String> = lines.iter().map(|(source, line)| format!("- {line} ({source})")).collect();
    format!("{start}\n\n{}", lines.join("\n"))
}
