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
    arguments: "[N prompt | compare | keep | rank | stop | remove]",
    help: "try a prompt N times at once, then compare and keep one",
    run,
};

const USAGE: &str = "use /explore N [--model A,B] [--instructions 'text'] prompt, or /explore compare [id] 1 2, keep [id] 1, rank [id], stop [1], remove [id] [1]";

/// The shortest beginning of an id. The numbers of tries are shorter.
const MIN_ID: usize = 4;

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    match parse(words) {
        Some(ParsedWords::List) => vec![Action::PrintExplores],
        Some(ParsedWords::Compare(explore, left, right)) => vec![Action::CompareTries(explore, left, right)],
        Some(ParsedWords::Send(command)) => {
            let purpose = match &*command {
                ExploreCommand::Cancel { number: None, .. } => {
                    CommandPurpose::Change("Stopped the tries".to_owned())
                }
                ExploreCommand::Cancel { .. } => CommandPurpose::Change("Stopped the try".to_owned()),
                ExploreCommand::Start { .. } => CommandPurpose::Explore(Some(format!("/explore {words}"))),
                _ => CommandPurpose::Explore(None),
            };
            state.activity.keeps_try = matches!(&*command, ExploreCommand::Keep { .. });
            vec![Action::Send(ClientCommand::Explore(*command), purpose)]
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
    Compare(Option<String>, u32, u32),
    Send(Box<ExploreCommand>),
}

fn parse(words: &str) -> Option<ParsedWords> {
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rest = rest.trim();
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let command = match first {
        "" => return Some(ParsedWords::List),
        "compare" => {
            let (explore, rest) = split_id(rest);
            let (left, right) = rest.split_once(char::is_whitespace)?;
            return Some(ParsedWords::Compare(explore, number(left)?, number(right)?));
        }
        "keep" => {
            let (explore, rest) = split_id(rest);
            ExploreCommand::Keep { explore, number: number(rest)? }
        }
        "rank" => {
            let (explore, rest) = split_id(rest);
            rest.is_empty().then_some(ExploreCommand::Rank { explore })?
        }
        "stop" | "remove" => {
            let (explore, rest) = split_id(rest);
            let (rest, force) = match rest.strip_suffix("--force").filter(|_| first == "remove") {
                Some(rest) => (rest.trim(), true),
                None => (rest, false),
            };
            let number = if rest.is_empty() { None } else { Some(number(rest)?) };
            match first {
                "stop" => ExploreCommand::Cancel { explore, number },
                _ => ExploreCommand::Remove { explore, number, force },
            }
        }
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

/// The id of an explore, if the words begin with one, and the rest.
fn split_id(words: &str) -> (Option<String>, &str) {
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let is_id = first.len() >= MIN_ID && first.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { (Some(first.to_owned()), rest.trim()) } else { (None, words) }
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
        assert_eq!(
            send("remove"),
            Some(ExploreCommand::Remove { explore: None, number: None, force: false })
        );
        assert_eq!(
            send("remove 1 --force"),
            Some(ExploreCommand::Remove { explore: None, number: Some(1), force: true })
        );
        assert_eq!(send("stop 2"), Some(ExploreCommand::Cancel { explore: None, number: Some(2) }));
        assert!(matches!(parse("compare 1 2"), Some(ParsedWords::Compare(None, 1, 2))));
        let id = || Some("12345678".to_owned());
        assert_eq!(send("keep 12345678 2"), Some(ExploreCommand::Keep { explore: id(), number: 2 }));
        assert_eq!(send("rank 12345678"), Some(ExploreCommand::Rank { explore: id() }));
        assert_eq!(
            send("remove 12345678 --force"),
            Some(ExploreCommand::Remove { explore: id(), number: None, force: true })
        );
        assert!(
            matches!(parse("compare 12345678 1 3"), Some(ParsedWords::Compare(explore, 1, 3)) if explore == id())
        );
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
