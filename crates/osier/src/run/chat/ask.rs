//! Asking before a tool runs: what it would do, and what the person says to it.

use osier_agent::{Answer, Question};
use osier_tools::approvals::Why;
use osier_tools::{Allowance, Change};
use osier_tree::projection::preview::inert;

use super::view::{Paint, diff};
use crate::out::Style;
use crate::run::told;

/// What would happen, and the answers there are.
pub(super) fn drawn(question: &Question, paint: Paint, home: Option<&str>) -> String {
    let call = &question.call;
    let what = match &question.what {
        Change::Command { command } => format!("  $ {}\n", inert(command).replace('\n', "\n    ")),
        Change::Diff { path, diff: text, created } => {
            let verb = if *created { "creates" } else { "changes" };
            format!("  {verb} {}\n{}", inert(path), diff(text, paint))
        }
        Change::Nothing | Change::Call { .. } => String::new(),
    };
    let why = match question.why {
        Why::Writes => "it changes a file",
        Why::Runs => "it runs a command",
        Why::Outside => "it changes a file outside the project",
        Why::Guarded => "it changes a file that makes programs run",
    };
    let title = format!("May it do this? {} ({why})", told::call(&call.name, &call.arguments, home));
    format!("{}\n{what}{}", paint.on(Style::Bold, &title), answers(question, paint))
}

/// The answers as one line.
pub(super) fn answers(question: &Question, paint: Paint) -> String {
    let mut told = vec!["y: once".to_owned()];
    told.extend(question.offers.iter().map(|offer| match offer {
        Allowance::Command(_) => {
            format!("p: always `{}`", inert(&offer.to_string()).trim_start_matches("bash:"))
        }
        Allowance::Tool(name) => format!("a: always {}", inert(name)),
    }));
    told.push("n: no, or n and why".to_owned());
    paint.on(Style::Dim, &format!("  {}", told.join("   "))) + "\n"
}

/// The answer that was typed, if it is one.
pub(super) fn read(typed: &str, question: &Question) -> Option<Answer> {
    let typed = typed.trim();
    let (word, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let offered = |is_command: bool| {
        let offer = |offer: &&Allowance| matches!(offer, Allowance::Command(_)) == is_command;
        question.offers.iter().find(offer).cloned().map(Answer::Always)
    };
    match word.to_lowercase().as_str() {
        "y" | "yes" if rest.is_empty() => Some(Answer::Once),
        "a" | "always" if rest.is_empty() => offered(false),
        "p" if rest.is_empty() => offered(true),
        "n" | "no" => Some(Answer::No(rest.trim().to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_tools::ToolCall;
    use serde_json::json;

    fn question(offers: &[&str]) -> Question {
        let command = "git push\u{1b}[2J".to_owned();
        Question {
            call: ToolCall { id: "c".into(), name: "bash".into(), arguments: json!({ "command": command }) },
            what: Change::Command { command },
            why: Why::Runs,
            offers: offers.iter().map(|offer| Allowance::parse(offer)).collect(),
        }
    }

    #[test]
    fn what_would_run_is_shown_whole_and_inert() {
        let drawn = drawn(&question(&["bash:git push", "bash"]), Paint::default(), None);
        assert_eq!(
            drawn,
            "May it do this? [bash: git push\u{fffd}[2J] (it runs a command)\n  $ git push\u{fffd}[2J\n  \
             y: once   p: always `git push`   a: always bash   n: no, or n and why\n"
        );
    }

    #[test]
    fn only_a_clear_answer_counts() {
        let both = question(&["bash:git push", "bash"]);
        let none = question(&[]);
        assert_eq!(read(" Y ", &both), Some(Answer::Once));
        assert_eq!(read("p", &both), Some(Answer::Always(Allowance::parse("bash:git push"))));
        assert_eq!(read("a", &both), Some(Answer::Always(Allowance::parse("bash"))));
        assert_eq!(read("n not  now", &both), Some(Answer::No("not  now".to_owned())));
        for typed in ["", "yes please", "sure", "y\nrm -rf x"] {
            assert_eq!(read(typed, &both), None, "{typed}");
        }
        assert_eq!((read("a", &none), read("p", &none)), (None, None));
    }
}
