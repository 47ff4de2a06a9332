//! The types of settings: checks a value, and describes what is allowed.

use std::fmt;

use osier_model::{CompatSpec, Price, ThinkingAbility};
use toml::Value;

/// The type of a setting.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Choice(&'static [&'static str]),
    Bool,
    Text,
    Texts,
    /// One string, or a list of strings.
    TextOrTexts,
    Count {
        least: i64,
        most: i64,
    },
    /// A list of TCP ports.
    Ports,
    /// `true`, `false`, or a table with details.
    Thinking,
    Price,
    /// A table of named switches.
    Compat,
    /// A list of tables, whose keys are settings too.
    Models,
}

impl Kind {
    /// What is wrong with a value, if anything. Does not contain the value: it may be a secret.
    pub(crate) fn objection(self, value: &Value) -> Option<String> {
        if self.takes(value) {
            return None;
        }
        let detail = match (self, value) {
            (Kind::Thinking, Value::Table(_)) => value.clone().try_into::<ThinkingAbility>().err(),
            (Kind::Price, Value::Table(_)) => value.clone().try_into::<Price>().err(),
            (Kind::Compat, Value::Table(_)) => value.clone().try_into::<CompatSpec>().err(),
            _ => None,
        };
        Some(match detail {
            Some(error) => format!("must be {self}: {}", error.message()),
            None => format!("must be {self}"),
        })
    }

    fn takes(self, value: &Value) -> bool {
        let texts = || value.as_array().is_some_and(|items| items.iter().all(Value::is_str));
        match self {
            Kind::Choice(names) => value.as_str().is_some_and(|name| names.contains(&name)),
            Kind::Bool => value.is_bool(),
            Kind::Text => value.is_str(),
            Kind::Texts => texts(),
            Kind::TextOrTexts => value.is_str() || texts(),
            Kind::Count { least, most } => {
                value.as_integer().is_some_and(|count| (least..=most).contains(&count))
            }
            Kind::Ports => value.as_array().is_some_and(|items| {
                items.iter().all(|item| item.as_integer().is_some_and(|port| (1..=65_535).contains(&port)))
            }),
            Kind::Thinking => value.is_bool() || value.clone().try_into::<ThinkingAbility>().is_ok(),
            Kind::Price => value.is_table() && value.clone().try_into::<Price>().is_ok(),
            Kind::Compat => value.is_table() && value.clone().try_into::<CompatSpec>().is_ok(),
            Kind::Models => value.as_array().is_some_and(|items| items.iter().all(Value::is_table)),
        }
    }

    /// The allowed values, if they are few.
    pub(crate) fn choices(self) -> &'static [&'static str] {
        match self {
            Kind::Choice(names) => names,
            Kind::Bool => &["true", "false"],
            _ => &[],
        }
    }

    /// Parses a value from the command line, where strings need no quotes.
    pub(crate) fn read(self, text: &str) -> Option<Value> {
        let as_toml = || toml::from_str::<toml::Table>(&format!("v = {text}")).ok()?.remove("v");
        let value = match self {
            Kind::Choice(_) | Kind::Text => Value::String(text.to_owned()),
            Kind::Texts | Kind::TextOrTexts => match as_toml() {
                Some(list @ Value::Array(_)) => list,
                _ if matches!(self, Kind::TextOrTexts) => Value::String(text.to_owned()),
                _ => {
                    Value::Array(text.split(',').map(|item| Value::String(item.trim().to_owned())).collect())
                }
            },
            Kind::Ports if !text.starts_with('[') => {
                toml::from_str::<toml::Table>(&format!("v = [{text}]")).ok()?.remove("v")?
            }
            Kind::Bool
            | Kind::Count { .. }
            | Kind::Ports
            | Kind::Thinking
            | Kind::Price
            | Kind::Compat
            | Kind::Models => as_toml()?,
        };
        self.takes(&value).then_some(value)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Choice(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
                match names.split_last() {
                    Some((last, [])) => f.write_str(last),
                    Some((last, first)) => write!(f, "{} or {last}", first.join(", ")),
                    None => Ok(()),
                }
            }
            Kind::Bool => f.write_str("true or false"),
            Kind::Text => f.write_str("a string"),
            Kind::Texts => f.write_str("a list of strings"),
            Kind::TextOrTexts => f.write_str("a string or a list of strings"),
            Kind::Count { least, most } => write!(f, "a whole number from {least} to {most}"),
            Kind::Ports => f.write_str("a list of ports"),
            Kind::Thinking => f.write_str("true, false or a table"),
            Kind::Price => f.write_str("a table of numbers"),
            Kind::Compat => f.write_str("a table of switches"),
            Kind::Models => f.write_str("a list of tables"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_testkit::expect;

    #[test]
    fn an_error_describes_what_is_allowed_without_the_value() {
        let secret = Value::String("sk-secret".to_owned());
        let kinds = [
            Kind::Choice(&["a", "b", "c"]),
            Kind::Bool,
            Kind::Texts,
            Kind::Count { least: 1, most: 9 },
            Kind::Thinking,
            Kind::Price,
            Kind::Models,
        ];
        let errors: Vec<String> = kinds.iter().filter_map(|kind| kind.objection(&secret)).collect();
        assert_eq!(errors.len(), kinds.len());
        expect![[r#"
            must be "a", "b" or "c"
            must be true or false
            must be a list of strings
            must be a whole number from 1 to 9
            must be true, false or a table
            must be a table of numbers
            must be a list of tables"#]]
        .assert_eq(&errors.join("\n"));
    }

    #[test]
    fn strings_on_the_command_line_need_no_quotes() {
        let read = |kind: Kind, text: &str| kind.read(text).map(|value| value.to_string());
        assert_eq!(read(Kind::Text, "local/x").as_deref(), Some("\"local/x\""));
        assert_eq!(read(Kind::Texts, "read, grep").as_deref(), Some("[\"read\", \"grep\"]"));
        assert_eq!(read(Kind::Texts, "[\"read\"]").as_deref(), Some("[\"read\"]"));
        assert_eq!(read(Kind::TextOrTexts, "KEY").as_deref(), Some("\"KEY\""));
        assert_eq!(read(Kind::Bool, "false").as_deref(), Some("false"));
        assert_eq!(read(Kind::Bool, "no"), None);
        assert_eq!(read(Kind::Ports, "80, 443").as_deref(), Some("[80, 443]"));
        assert_eq!(read(Kind::Ports, "[53]").as_deref(), Some("[53]"));
        assert_eq!(read(Kind::Ports, "70000"), None);
        assert_eq!(read(Kind::Count { least: 1, most: 9 }, "10"), None);
        assert_eq!(read(Kind::Choice(&["a"]), "b"), None);
    }
}
