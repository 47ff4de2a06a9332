//! Options of the command line that extensions add, such as `--plan`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use osier_extensions::FlagKind;
use serde_json::{Value, json};

use super::RunExtensions;
use crate::cli;
use crate::failure::usage_error;

/// An option that Osier does not have: perhaps a flag of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownFlag {
    /// Without the dashes.
    pub(crate) name: String,
    /// What followed after `=`.
    pub(crate) value: Option<String>,
    /// The word after it, which is its value or belongs to the prompt.
    pub(crate) next_word: Option<String>,
    /// How many equal words are before that word.
    pub(crate) equal_before: usize,
}

/// All such options.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnknownFlags {
    pub(crate) flags: Vec<UnknownFlag>,
    /// The error of the command line if no extension has them.
    pub(crate) error: Option<Arc<clap::Error>>,
}

impl UnknownFlag {
    /// Takes an option out of a command line.
    pub(crate) fn take(line: &mut Vec<String>, option: &str) -> Option<UnknownFlag> {
        let prefix = format!("{option}=");
        let at = line.iter().position(|word| word == option || word.starts_with(&prefix))?;
        let value = line.remove(at).strip_prefix(&prefix).map(str::to_owned);
        let next_word = line.get(at).filter(|word| !word.starts_with('-')).cloned();
        let equal_before = line[..at].iter().filter(|word| Some(*word) == next_word.as_ref()).count();
        Some(UnknownFlag { name: option.trim_start_matches('-').to_owned(), value, next_word, equal_before })
    }

    /// The value for the extension. A word of the prompt that is the value is removed from it.
    fn resolve(&self, kind: FlagKind, words: &mut Vec<String>) -> Result<Value> {
        match (kind, &self.value, &self.next_word) {
            (FlagKind::Boolean, value, _) => Ok(json!(value.as_deref() != Some("false"))),
            (FlagKind::String, Some(value), _) => Ok(json!(value)),
            (FlagKind::String, None, Some(word)) => {
                let equal = words.iter().enumerate().filter(|(_, known)| *known == word).map(|(at, _)| at);
                // Values of other options may be equal, and are not part of the prompt.
                if let Some(at) = equal.take(self.equal_before + 1).last() {
                    words.remove(at);
                }
                Ok(json!(word))
            }
            (FlagKind::String, None, None) => {
                Err(usage_error(format!("--{} needs a value: --{}=VALUE", self.name, self.name)))
            }
        }
    }
}

impl RunExtensions {
    /// Gives the values of flags to the extensions. An option that no extension has is an error.
    pub(crate) async fn set_flags(
        &self,
        unknown: &UnknownFlags,
        words: &mut Vec<String>,
        directory: &Path,
    ) -> Result<()> {
        let Some(error) = &unknown.error else { return Ok(()) };
        let known = match &self.0 {
            Some(host) => host.find_flags(directory).await,
            None => BTreeMap::new(),
        };
        let mut values = BTreeMap::new();
        for flag in &unknown.flags {
            let Some(kind) = known.get(&flag.name) else { cli::exit_with_parse_error(error) };
            values.insert(flag.name.clone(), flag.resolve(*kind, words)?);
        }
        if let Some(host) = &self.0 {
            host.set_flags(values);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_taken_out_of_the_line_with_its_value() {
        let mut line: Vec<String> = ["-p", "--ssh", "host", "hello"].map(str::to_owned).into();
        let flag = UnknownFlag::take(&mut line, "--ssh").unwrap();
        assert_eq!(line, ["-p", "host", "hello"]);
        let mut words: Vec<String> = ["host", "hello"].map(str::to_owned).into();
        assert_eq!(flag.resolve(FlagKind::Boolean, &mut words).unwrap(), true);
        assert_eq!(flag.resolve(FlagKind::String, &mut words).unwrap(), "host");
        assert_eq!(words, ["hello"]);
        let mut line: Vec<String> = ["host", "is", "--ssh", "host"].map(str::to_owned).into();
        let flag = UnknownFlag::take(&mut line, "--ssh").unwrap();
        assert_eq!(flag.resolve(FlagKind::String, &mut line).unwrap(), "host");
        assert_eq!(line, ["host", "is"], "the prompt keeps its order");
        let mut line: Vec<String> = vec!["--plan=false".to_owned()];
        let flag = UnknownFlag::take(&mut line, "--plan").unwrap();
        assert_eq!(flag.resolve(FlagKind::Boolean, &mut words).unwrap(), false);
        assert!(line.is_empty() && UnknownFlag::take(&mut line, "--plan").is_none());
    }
}
