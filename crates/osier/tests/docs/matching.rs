//! Compares the expected output on a page with the actual output.
//!
//! Ids and times differ from run to run. An id on a page stands for the first real id it is compared with, in commands too.
//! A time or an age matches any other, `[..]` matches anything in a line, and `...` any lines. JSON may be formatted
//! differently.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

const ID: &str = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?\b";
const TIME: &str = r"\d{4}-\d\d-\d\d(?:T\d\d[:-]\d\d[:-]\d\d[.-]\d{3}Z| \d\d:\d\d\b)";
const AGE: &str = r" {2,}(?:now|\d+(?:mo|[mhdwy])) {2}";
const ANY: &str = r"\[\.\.\]";

static MOVABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!("(?<id>{ID})|(?<time>{TIME})|(?<age>{AGE})|(?<any>{ANY})")).expect("a pattern")
});

/// Larger numbers are times in milliseconds.
const MILLIS: u64 = 1_000_000_000_000;

/// Which real id each id on the page stands for.
#[derive(Debug, Default)]
pub(crate) struct Matcher {
    ids: HashMap<String, String>,
}

impl Matcher {
    /// A command with the real ids in it.
    pub(crate) fn real(&self, command: &str) -> String {
        let id = |found: &regex::Captures<'_>| {
            let shown = &found[0];
            self.ids.get(shown).map_or_else(|| shown.to_owned(), Clone::clone)
        };
        MOVABLE.replace_all(command, id).into_owned()
    }

    pub(crate) fn check(&mut self, expected: &str, actual: &str) -> Result<(), String> {
        let json = |text: &str| {
            serde_json::from_str::<Value>(text).ok().filter(|json| json.is_object() || json.is_array())
        };
        match (json(expected), json(actual)) {
            (Some(expected), Some(actual)) => self.json(&expected, &actual, "$"),
            _ => self.lines(&expected.lines().collect::<Vec<_>>(), &actual.lines().collect::<Vec<_>>()),
        }
    }

    fn lines(&mut self, mut expected: &[&str], mut actual: &[&str]) -> Result<(), String> {
        while let [first, rest @ ..] = expected {
            if *first == "..." {
                let skip = |matcher: &mut Matcher, from: usize| matcher.lines(rest, &actual[from..]);
                return (0..=actual.len()).map(|from| skip(self, from)).find(Result::is_ok).unwrap_or_else(
                    || {
                        Err(format!(
                            "nothing after `...` fits: {}",
                            rest.first().copied().unwrap_or_default()
                        ))
                    },
                );
            }
            let printed = actual.first().ok_or_else(|| format!("missing: {first}"))?;
            if !self.text(first, printed) {
                return Err(format!("shown:   {first}\nprinted: {printed}"));
            }
            (expected, actual) = (rest, &actual[1..]);
        }
        actual.first().map_or(Ok(()), |line| Err(format!("not shown: {line}")))
    }

    fn json(&mut self, expected: &Value, actual: &Value, at: &str) -> Result<(), String> {
        let same = match (expected, actual) {
            (Value::Object(shown), Value::Object(printed)) => {
                let keys = |map: &serde_json::Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
                let mut named = HashMap::new();
                for (key, value) in printed {
                    named.insert(key.as_str(), value);
                }
                for (key, value) in shown {
                    let real = self.real(key);
                    let found = named
                        .remove(real.as_str())
                        .ok_or_else(|| format!("{at}: no {key}, but {}", keys(printed).join(", ")))?;
                    self.json(value, found, &format!("{at}.{key}"))?;
                }
                named.is_empty()
            }
            (Value::Array(shown), Value::Array(printed)) => {
                for (number, (shown, printed)) in shown.iter().zip(printed).enumerate() {
                    self.json(shown, printed, &format!("{at}[{number}]"))?;
                }
                shown.len() == printed.len()
            }
            (Value::String(shown), Value::String(printed)) => self.text(shown, printed),
            (Value::String(any), _) if any == "[..]" => true,
            (Value::Number(shown), Value::Number(printed)) => {
                let time =
                    |number: &serde_json::Number| number.as_u64().is_some_and(|number| number >= MILLIS);
                shown == printed || time(shown) && time(printed)
            }
            _ => expected == actual,
        };
        if same { Ok(()) } else { Err(format!("{at}\nshown:   {expected}\nprinted: {actual}")) }
    }

    /// Whether a shown text stands for a printed one. If so, remembers the ids.
    fn text(&mut self, shown: &str, printed: &str) -> bool {
        let (mut pattern, mut ids, mut end) = ("^".to_owned(), Vec::new(), 0);
        for found in MOVABLE.captures_iter(shown) {
            let whole = found.get(0).expect("a match");
            pattern += &regex::escape(&shown[end..whole.start()]);
            end = whole.end();
            pattern += if let Some(id) = found.name("id") {
                ids.push(id.as_str());
                "([0-9a-f-]+)"
            } else if found.name("time").is_some() {
                TIME
            } else if found.name("age").is_some() {
                AGE
            } else {
                ".*"
            };
        }
        pattern += &format!("{}$", regex::escape(&shown[end..]));
        let fits = Regex::new(&pattern).expect("made of escaped pieces");
        let Some(real) = fits.captures(printed) else { return false };
        ids.into_iter()
            .zip(real.iter().skip(1))
            .all(|(id, real)| self.bind(id, real.map_or("", |real| real.as_str())))
    }

    /// Binds an id on the page to a real one, with its first eight digits. Fails if it is bound to another.
    fn bind(&mut self, shown: &str, real: &str) -> bool {
        if shown.len() != real.len() {
            return false;
        }
        if shown.len() > 8 && !self.bind(&shown[..8], &real[..8]) {
            return false;
        }
        self.ids.entry(shown.to_owned()).or_insert_with(|| real.to_owned()) == real
    }
}

#[test]
fn ids_are_bound_to_the_first_real_id() {
    let mut matcher = Matcher::default();
    assert!(matcher.check("made 4f89da11\n", "made 0b0b0b0b\n").is_ok());
    assert_eq!(
        matcher.real("osier sessions tree 4f89da11 00000001"),
        "osier sessions tree 0b0b0b0b 00000001"
    );
    assert!(matcher.check("4f89da11 again\n", "0c0c0c0c again\n").is_err());
    assert!(
        matcher
            .check("{\n \"at\": \"2026-01-01T00:00:00.000Z\"\n}\n", "{\"at\":\"2027-02-02T01:01:01.001Z\"}\n")
            .is_ok()
    );
    assert!(matcher.check("a [..] c\n...\nz\n", "a b c\n1\n2\nz\n").is_ok());
    assert!(matcher.check("a\n", "a\nb\n").is_err());
}
