//! `/explore`: tries a prompt several times at once, and handles the tries.

use osier_protocol::explore::try_options;
use osier_protocol::{ClientCommand, ExploreCommand, Prompt};

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::state::UiState;
use crate::update::show_error;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "explore",
    aliases: &[],
    arguments: "[N prompt | compare | keep | rank | remove]",
    help: "try a prompt N times at once, then compare and keep one",
    run,
};

const USAGE: &str = "use /explore N [--model A,B] prompt, /explore compare 1 2, /explore keep 1, /explore rank, or /explore remove [1]";

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    match parse(words) {
        Some(ParsedWords::List) => vec![Action::PrintExplores],
        Some(ParsedWords::Compare(left, right)) => vec![Action::CompareTries(left, right)],
        Some(ParsedWords::Send(command)) => {
            vec![Action::Send(ClientCommand::Explore(*command), CommandPurpose::Explore)]
        }
        None => {
            show_error(state, USAGE);
            state.editor.set(&format!("/explore {words}"));
            Vec::new()
        }
    }
}

enum ParsedWords {
    List,
    Compare(u32, u32),
    Send(Box<ExploreCommand>),
}

fn parse(words: &str) -> Option<ParsedWords> {
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rest = rest.trim();
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let command = match first {
        "" => return Some(ParsedWords::List),
        "compare" => {
            let (left, right) = rest.split_once(char::is_whitespace)?;
            return Some(ParsedWords::Compare(number(left)?, number(right)?));
        }
        "keep" => ExploreCommand::Keep { explore: None, number: number(rest)? },
        "rank" if rest.is_empty() => ExploreCommand::Rank { explore: None },
        "remove" if rest.is_empty() => ExploreCommand::Remove { explore: None, number: None },
        "remove" => ExploreCommand::Remove { explore: None, number: Some(number(rest)?) },
        count => {
            let count: usize = count.parse().ok()?;
            let (models, prompt) = match rest.strip_prefix("--model ") {
                Some(rest) => rest.trim_start().split_once(char::is_whitespace)?,
                None => ("", rest),
            };
            let models: Vec<String> = models
                .split(',')
                .map(str::trim)
                .filter(|model| !model.is_empty())
                .map(str::to_owned)
                .collect();
            let prompt = Prompt::typed(prompt.trim());
            (!prompt.is_empty()).then_some(())?;
            ExploreCommand::Start { prompt, tries: try_options(count, &models, &[]) }
        }
    };
    Some(ParsedWords::Send(Box::new(command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_a_start_with_models_or_a_command_about_tries() {
        let send = |words: &str| match parse(words) {
            Some(ParsedWords::Send(command)) => Some(*command),
            _ => None,
        };
        let Some(ExploreCommand::Start { prompt, tries }) = send("3 --model a,b fix  the parser") else {
            panic!()
        };
        let models: Vec<_> = tries.iter().map(|one| one.model.as_deref()).collect();
        assert_eq!(
            (prompt.text.as_str(), models),
            ("fix  the parser", vec![Some("a"), Some("b"), Some("a")])
        );
        assert_eq!(send("keep 2"), Some(ExploreCommand::Keep { explore: None, number: 2 }));
        assert_eq!(send("remove"), Some(ExploreCommand::Remove { explore: None, number: None }));
        assert!(matches!(parse("compare 1 2"), Some(ParsedWords::Compare(1, 2))));
        assert!(matches!(parse(""), Some(ParsedWords::List)));
        for wrong in ["3", "keep", "keep x", "compare 1", "fix it", "rank all"] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }
}
