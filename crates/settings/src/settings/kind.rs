//! The types of settings: checks a value, and describes what is allowed.

use std::fmt;

use osier_model::{CompatSpec, Price, ThinkingAbility};
use toml::Value;

/// The type of a setting.
#[derive(Debug, Clone, Copy)]
pub enum SettingKind {
    Choice(&'static [&'static str]),
    Bool,
    Text,
    TextList,
    /// One string, or a list of strings.
    TextOrList,
    Count {
        min: i64,
        max: i64,
    },
    /// An amount of money, in dollars.
    Dollars,
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

impl SettingKind {
    /// What is wrong with a value, if anything. Does not contain the value: it may be a secret.
    pub fn check(self, value: &Value) -> Option<String> {
        if self.accepts(value) {
            return None;
        }
        let detail = match (self, value) {
            (SettingKind::Thinking, Value::Table(_)) => value.clone().try_into::<ThinkingAbility>().err(),
            (SettingKind::Price, Value::Table(_)) => value.clone().try_into::<Price>().err(),
            (SettingKind::Compat, Value::Table(_)) => value.clone().try_into::<CompatSpec>().err(),
            _ => None,
        };
        Some(match detail {
            Some(error) => format!("must be {self}: {}", error.message()),
            None => format!("must be {self}"),
        })
    }

    fn accepts(self, value: &Value) -> bool {
        let texts = || value.as_array().is_some_and(|items| items.iter().all(Value::is_str));
        match self {
            SettingKind::Choice(names) => value.as_str().is_some_and(|name| names.contains(&name)),
            SettingKind::Bool => value.is_bool(),
            SettingKind::Text => value.is_str(),
            SettingKind::TextList => texts(),
            SettingKind::TextOrList => value.is_str() || texts(),
            SettingKind::Count { min, max } => {
                value.as_integer().is_some_and(|count| (min..=max).contains(&count))
            }
            SettingKind::Dollars => dollars(value).is_some_and(|amount| amount > 0.0),
            SettingKind::Ports => value.as_array().is_some_and(|items| {
                items.iter().all(|item| item.as_integer().is_some_and(|port| (1..=65_535).contains(&port)))
            }),
            SettingKind::Thinking => value.is_bool() || value.clone().try_into::<ThinkingAbility>().is_ok(),
            SettingKind::Price => value.is_table() && value.clone().try_into::<Price>().is_ok(),
            SettingKind::Compat => value.is_table() && value.clone().try_into::<CompatSpec>().is_ok(),
            SettingKind::Models => value.as_array().is_some_and(|items| items.iter().all(Value::is_table)),
        }
    }

    /// The allowed values, if they are few.
    pub fn choices(self) -> &'static [&'static str] {
        match self {
            SettingKind::Choice(names) => names,
            SettingKind::Bool => &["true", "false"],
            _ => &[],
        }
    }

    /// Parses a value from the command line, where strings need no quotes.
    pub fn parse_argument(self, text: &str) -> Option<Value> {
        let as_toml = || toml::from_str::<toml::Table>(&format!("v = {text}")).ok()?.remove("v");
        let value = match self {
            SettingKind::Choice(_) | SettingKind::Text => Value::String(text.to_owned()),
            SettingKind::TextList | SettingKind::TextOrList => match as_toml() {
                Some(list @ Value::Array(_)) => list,
                _ if matches!(self, SettingKind::TextOrList) => Value::String(text.to_owned()),
                _ => {
                    Value::Array(text.split(',').map(|item| Value::String(item.trim().to_owned())).collect())
                }
            },
            SettingKind::Ports if !text.starts_with('[') => {
                toml::from_str::<toml::Table>(&format!("v = [{text}]")).ok()?.remove("v")?
            }
            SettingKind::Bool
            | SettingKind::Count { .. }
            | SettingKind::Dollars
            | SettingKind::Ports
            | SettingKind::Thinking
            | SettingKind::Price
            | SettingKind::Compat
            | SettingKind::Models => as_toml()?,
        };
        self.accepts(&value).then_some(value)
    }
}

/// An amount of money, with or without decimals.
pub(crate) fn dollars(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|amount| amount as f64))
}

impl fmt::Display for SettingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingKind::Choice(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
                match names.split_last() {
                    Some((last, [])) => f.write_str(last),
                    Some((last, first)) => write!(f, "{} or {last}", first.join(", ")),
                    None => Ok(()),
                }
            }
            SettingKind::Bool => f.write_str("true or false"),
            SettingKind::Text => f.write_str("a string"),
            SettingKind::TextList => f.write_str("a list of strings"),
            SettingKind::TextOrList => f.write_str("a string or a list of strings"),
            SettingKind::Count { min, max } => write!(f, "a whole number from {min} to {max}"),
            SettingKind::Dollars => f.write_str("an amount of dollars above 0"),
            SettingKind::Ports => f.write_str("a list of ports"),
            SettingKind::Thinking => f.write_str("true, false or a table"),
            SettingKind::Price => f.write_str("a table of numbers"),
            SettingKind::Compat => f.write_str("a table of switches"),
            SettingKind::Models => f.write_str("a list of tables"),
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
            SettingKind::Choice(&["a", "b", "c"]),
            SettingKind::Bool,
            SettingKind::TextList,
            SettingKind::Count { min: 1, max: 9 },
            SettingKind::Thinking,
            SettingKind::Price,
            SettingKind::Models,
        ];
        let errors: Vec<String> = kinds.iter().filter_map(|kind| kind.check(&secret)).collect();
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
        let read = |kind: SettingKind, text: &str| kind.parse_argument(text).map(|value| value.to_string());
        assert_eq!(read(SettingKind::Text, "local/x").as_deref(), Some("\"local/x\""));
        assert_eq!(read(SettingKind::TextList, "read, grep").as_deref(), Some("[\"read\", \"grep\"]"));
        assert_eq!(read(SettingKind::TextList, "[\"read\"]").as_deref(), Some("[\"read\"]"));
        assert_eq!(read(SettingKind::TextOrList, "KEY").as_deref(), Some("\"KEY\""));
        assert_eq!(read(SettingKind::Bool, "false").as_deref(), Some("false"));
        assert_eq!(read(SettingKind::Bool, "no"), None);
        assert_eq!(read(SettingKind::Ports, "80, 443").as_deref(), Some("[80, 443]"));
        assert_eq!(read(SettingKind::Ports, "[53]").as_deref(), Some("[53]"));
        assert_eq!(read(SettingKind::Ports, "70000"), None);
        assert_eq!(read(SettingKind::Count { min: 1, max: 9 }, "10"), None);
        assert_eq!(read(SettingKind::Dollars, "0.5").as_deref(), Some("0.5"));
        assert_eq!(read(SettingKind::Dollars, "2").as_deref(), Some("2"));
        assert_eq!(read(SettingKind::Dollars, "0"), None);
        assert_eq!(read(SettingKind::Choice(&["a"]), "b"), None);
    }
}
