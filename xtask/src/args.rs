//! A minimal command-line parser: flags and options with a value. No positional arguments, no abbreviations.

use std::fmt;

use anyhow::Result;

/// The command line was wrong; the usage is printed.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Arguments that have not been consumed yet.
pub(crate) struct Args {
    left: Vec<String>,
}

impl Args {
    pub(crate) fn new(given: impl Iterator<Item = String>) -> Self {
        Self { left: given.collect() }
    }

    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.left.len();
        self.left.retain(|arg| arg != name);
        self.left.len() != before
    }

    pub(crate) fn value(&mut self, name: &str) -> Result<Option<String>> {
        let Some(at) = self.left.iter().position(|arg| arg == name) else { return Ok(None) };
        if at + 1 >= self.left.len() {
            return Err(UsageError(format!("{name} needs a value")).into());
        }
        self.left.remove(at);
        Ok(Some(self.left.remove(at)))
    }

    pub(crate) fn number(&mut self, name: &str, default: u64) -> Result<u64> {
        match self.value(name)? {
            None => Ok(default),
            Some(text) => {
                text.parse().map_err(|_| UsageError(format!("{name} needs a number, not {text}")).into())
            }
        }
    }

    /// All arguments, for a task that passes them on.
    pub(crate) fn rest(self) -> Vec<String> {
        self.left
    }

    /// Rejects arguments that the task did not consume.
    pub(crate) fn finish(self) -> Result<()> {
        match self.left.first() {
            None => Ok(()),
            Some(arg) => Err(UsageError(format!("unknown argument {arg}")).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Args {
        Args::new(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn flags_and_values_are_accepted_in_any_order() {
        let mut given = args("--seed 7 --quick");
        assert!(given.flag("--quick"));
        assert_eq!(given.number("--seed", 1).unwrap(), 7);
        assert_eq!(given.number("--sessions", 300).unwrap(), 300);
        given.finish().unwrap();
    }

    #[test]
    fn unknown_arguments_are_rejected() {
        assert_eq!(args("--fast").finish().unwrap_err().to_string(), "unknown argument --fast");
        assert_eq!(args("--seed").value("--seed").unwrap_err().to_string(), "--seed needs a value");
    }
}
