//! Decides whether the words after `osier` are a prompt: an unknown or misspelled command is refused.

use anyhow::Result;
use clap::Command;

use super::suggest::closest_word;
use crate::failure::usage_error;

/// Refuses words that look like a command of `osier`, so that they are not sent to a model. `is_first` means that no option
/// precedes them. `forced` means that an option marks them as a prompt.
pub(super) fn check(words: &[String], is_first: bool, forced: bool, osier: &Command) -> Result<()> {
    let Some((first, rest)) = words.split_first().filter(|_| !forced) else { return Ok(()) };
    let problem = match command_meant(first, rest, osier) {
        Some(meant) if meant == *first => {
            format!("the options before the command `{meant}` do not apply to it.")
        }
        Some(meant) => format!("unknown command `{first}`; did you mean `osier {meant}`?"),
        None if rest.is_empty() && is_first && looks_like_command(first) => {
            format!("unknown command `{first}`; {}", suggestion(first, osier))
        }
        None => return Ok(()),
    };
    let prompt = words.join(" ").replace('\'', "'\\''");
    Err(usage_error(format!("{problem} To send it to the model: osier -- '{prompt}'")))
}

/// Whether a single word could be a command: sentences, files and questions contain other characters.
fn looks_like_command(word: &str) -> bool {
    let is_part =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    word.starts_with(|ch: char| ch.is_ascii_lowercase()) && word.bytes().all(is_part)
}

/// The command that the first word is or resembles, if it is the only word or if a subcommand of it follows.
fn command_meant(first: &str, rest: &[String], osier: &Command) -> Option<String> {
    let meant = closest_word(first, command_names(osier))?;
    let knows = |next: &String| {
        osier.find_subcommand(meant).is_some_and(|command| command_names(command).any(|name| name == next))
    };
    rest.first().is_none_or(knows).then(|| meant.to_owned())
}

/// The names of the subcommands that help shows.
fn command_names(command: &Command) -> impl Iterator<Item = &str> {
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.flat_map(Command::get_name_and_visible_aliases).chain(["help"])
}

/// Suggests the closest subcommand of any command, or lists all commands.
fn suggestion(word: &str, osier: &Command) -> String {
    let near = osier.get_subcommands().find_map(|command| {
        let meant = closest_word(word, command_names(command).filter(|name| *name != "help"))?;
        Some(format!("{} {meant}", command.get_name()))
    });
    match near {
        Some(near) => format!("did you mean `osier {near}`?"),
        None => {
            let all: Vec<&str> = command_names(osier).filter(|name| name.len() > 1).collect();
            format!("the commands are {}.", all.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(words: &[&str]) -> String {
        let sessions = Command::new("sessions").visible_alias("s").subcommand(Command::new("list"));
        let osier = Command::new("osier")
            .subcommand(sessions)
            .subcommand(Command::new("demo"))
            .subcommand(Command::new("bench-open").hide(true));
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        assert!(check(&words, true, true, &osier).is_ok());
        check(&words, true, false, &osier).map_or_else(|error| error.to_string(), |()| "prompt".to_owned())
    }

    #[test]
    fn a_mistyped_command_is_refused_and_a_sentence_is_not() {
        assert_eq!(
            result(&["sesions"]),
            "unknown command `sesions`; did you mean `osier sessions`? To send it to the model: osier -- 'sesions'"
        );
        assert!(result(&["session", "list"]).starts_with("unknown command `session`"));
        assert!(result(&["demo"]).starts_with("the options before the command `demo` do not apply"));
        for words in [&["fix", "the", "bug"][..], &["session", "handling", "is", "broken"], &["demo it"], &[]]
        {
            assert_eq!(result(words), "prompt", "{words:?}");
        }
    }

    #[test]
    fn a_single_lowercase_word_is_refused_as_an_unknown_command() {
        for (word, suggestion) in [
            ("rpc", "the commands are sessions, demo, help."),
            ("list", "did you mean `osier sessions list`?"),
            ("bench-open", "the commands are sessions, demo, help."),
        ] {
            let problem = result(&[word]);
            assert!(problem.starts_with(&format!("unknown command `{word}`; {suggestion}")), "{problem}");
        }
        for word in ["why?", "Hello", "README.md", "@notes.txt", "a/b", "привет", "-", "7", "two words"]
        {
            assert_eq!(result(&[word]), "prompt", "{word}");
        }
        assert!(check(&["yes".to_owned()], false, false, &Command::new("osier")).is_ok(), "after an option");
    }
}
