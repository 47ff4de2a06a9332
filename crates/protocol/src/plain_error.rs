//! Errors of the JSON reader without the names of Rust types, for people who write requests.

/// What the JSON reader calls a value, and what JSON calls it. The first match counts.
const NAMES: [(&str, &str); 12] = [
    ("expected usize", "expected a whole number of at least 0"),
    ("expected u64", "expected a whole number of at least 0"),
    ("expected u32", "expected a whole number of at least 0"),
    ("expected i64", "expected a whole number"),
    ("expected f64", "expected a number"),
    ("expected a sequence", "expected an array"),
    ("expected a map", "expected an object"),
    ("expected unit", "expected null"),
    ("invalid type: map", "invalid type: object"),
    ("invalid type: sequence", "invalid type: array"),
    ("invalid type: unit value", "invalid type: null"),
    ("invalid digit found in string", "expected a whole number"),
];
/// Words before the name of a Rust type, and what stands for both.
const TYPES: [(&str, &str); 6] = [
    ("expected struct ", "expected an object"),
    ("expected internally tagged enum ", "expected an object with the field `type`"),
    ("expected adjacently tagged enum ", "expected an object with the field `type`"),
    ("expected enum ", "expected a name or an object"),
    ("expected variant identifier", "expected a name"),
    ("expected newtype struct ", "expected another value"),
];

/// The message of an error of the JSON reader, without the names of Rust types.
pub fn plain_json_error(message: &str) -> String {
    for (before, plain) in TYPES {
        if let Some((start, rest)) = message.split_once(before) {
            let name = rest.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(rest.len());
            return plain_names(&format!("{start}{plain}{}", &rest[name..]));
        }
    }
    plain_names(message)
}

fn plain_names(message: &str) -> String {
    NAMES.iter().fold(message.to_owned(), |message, (name, plain)| message.replacen(name, plain, 1))
}

#[cfg(test)]
mod tests {
    use crate::{ListSessions, MoveCommand, Prompt};

    use super::*;

    fn error<T: serde::de::DeserializeOwned>(json: &str) -> String {
        plain_json_error(&serde_json::from_str::<T>(json).err().unwrap().to_string())
    }

    #[test]
    fn a_message_names_no_rust_type() {
        for (message, start) in [
            (
                error::<ListSessions>(r#"{"limit":"x"}"#),
                "invalid type: string \"x\", expected a whole number of at",
            ),
            (
                error::<ListSessions>(r#"{"limit":-1}"#),
                "invalid value: integer `-1`, expected a whole number of at",
            ),
            (error::<MoveCommand>("7"), "invalid type: integer `7`, expected an object at line 1"),
            (error::<Prompt>(r#"{"text":{}}"#), "invalid type: object, expected a string at line 1"),
        ] {
            assert!(message.starts_with(start), "{message}");
        }
    }

    #[test]
    fn other_messages_stay() {
        assert_eq!(plain_json_error("missing field `text`"), "missing field `text`");
    }
}
