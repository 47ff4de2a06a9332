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

const USAGE: &str = "use /explore N [--model A,B] [--instructions 'text'] prompt, /explore compare 1 2, /explore keep 1, /explore rank, or /explore remove [1]";

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
            let (mut models, mut instructions, mut prompt) = (Vec::new(), Vec::new(), rest);
            loop {
                if let Some(rest) = prompt.strip_prefix("--model ") {
                    let (names, rest) = split_word(rest)?;
                    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
                    models.extend(names.map(str::to_owned));
                    prompt = rest;
                } else if let Some(rest) = prompt.strip_prefix("--instructions ") {
                    let (text, rest) = split_word(rest)?;
                    instructions.push(text.to_owned());
                    prompt = rest;
                } else {
                    break;
                }
            }
            let prompt = Prompt::typed(prompt);
            (!prompt.is_empty()).then_some(())?;
            ExploreCommand::Start { prompt, tries: try_options(count, &models, &instructions) }
        }
    };
    Some(ParsedWords::Send(Box::new(command)))
}

/// The first word, which may be in quotes, and the rest.
fn split_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
    let (word, rest) = match quote {
        Some(quote) => text[1..].split_once(quote)?,
        None => text.split_once(char::is_whitespace)?,
    };
    Some((word, rest.trim_start()))
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
        let Some(ExploreCommand::Start { prompt, tries }) =
            send("3 --instructions 'use a map' --model a --instructions \"use a list\" find --fast it's")
        else {
            panic!()
        };
        let options: Vec<_> =
            tries.iter().map(|one| (one.model.as_deref(), one.instructions.as_deref())).collect();
        let (map, list) = ((Some("a"), Some("use a map")), (Some("a"), Some("use a list")));
        assert_eq!((prompt.text.as_str(), options), ("find --fast it's", vec![map, list, map]));
        assert_eq!(send("keep 2"), Some(ExploreCommand::Keep { explore: None, number: 2 }));
        assert_eq!(send("remove"), Some(ExploreCommand::Remove { explore: None, number: None }));
        assert!(matches!(parse("compare 1 2"), Some(ParsedWords::Compare(1, 2))));
        assert!(matches!(parse(""), Some(ParsedWords::List)));
        for wrong in [
            "3 --instructions 'open",
            "3 --instructions 'only this'",
            "3",
            "keep",
            "keep x",
            "compare 1",
            "fix it",
            "rank all",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }
}
