//! What the words behind `osier` mean: a mistyped command is caught, everything else is said to the model.

use anyhow::Result;
use clap::Command;

use super::nearest::nearest;
use crate::failure::usage;

/// Refuses words that look like a command of `osier`, so that a slip is not sent to a model. `told` means that the caller
/// made clear that they are a prompt.
pub(super) fn check(words: &[String], told: bool, osier: &Command) -> Result<()> {
    match command_meant(words, osier) {
        Some(meant) if !told => {
            let all = words.join(" ");
            let said = match words[0] == meant {
                true => format!("the command `{meant}` takes none of the options before it."),
                false => format!("no command `{}`; did you mean `osier {meant}`?", words[0]),
            };
            Err(usage(format!("{said} To say it to the model: osier -- '{}'", all.replace('\'', "'\\''"))))
        }
        _ => Ok(()),
    }
}

/// The command that the first word is, or nearly is: if it stands alone, or if a word follows that this command knows.
fn command_meant(words: &[String], osier: &Command) -> Option<String> {
    let (first, rest) = words.split_first()?;
    let shown = osier.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<&str> = shown.flat_map(Command::get_name_and_visible_aliases).chain(["help"]).collect();
    let meant = nearest(first, names.iter().copied())?;
    let knows = |next: &String| {
        let command = osier.find_subcommand(meant);
        let subcommands = command.into_iter().flat_map(Command::get_subcommands);
        let mut names = subcommands.flat_map(Command::get_name_and_visible_aliases);
        names.any(|name| name == next)
    };
    rest.first().is_none_or(knows).then(|| meant.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &[&str]) -> String {
        let sessions = Command::new("sessions").visible_alias("s").subcommand(Command::new("list"));
        let osier = Command::new("osier")
            .subcommand(sessions)
            .subcommand(Command::new("demo"))
            .subcommand(Command::new("bench-open").hide(true));
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        assert!(check(&words, true, &osier).is_ok());
        check(&words, false, &osier).map_or_else(|error| error.to_string(), |()| "said".to_owned())
    }

    #[test]
    fn a_slip_of_a_command_is_caught_and_a_sentence_is_not() {
        assert_eq!(
            told(&["sesions"]),
            "no command `sesions`; did you mean `osier sessions`? To say it to the model: osier -- 'sesions'"
        );
        assert!(told(&["session", "list"]).starts_with("no command `session`"));
        assert!(told(&["demo"]).starts_with("the command `demo` takes none"));
        for words in [&["fix", "the", "bug"][..], &["session", "handling", "is", "broken"], &["demo it"], &[]]
        {
            assert_eq!(told(words), "said", "{words:?}");
        }
        assert_eq!(told(&["bench-open"]), "said");
    }
}
