//! Parses the JSON arguments of a tool call, and generates the JSON schema that the model sees. If the arguments do not
//! match, the error names the field, the expected type, and all fields of the tool.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::matching;
use crate::outcome::ToolOutcome;

/// The schema of an argument type, without keywords that only validators need: providers differ in what they accept.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    schema
}

fn simplify(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    for only_for_validators in ["format", "title", "default"] {
        object.shift_remove(only_for_validators);
    }
    object.get_mut("type").into_iter().for_each(drop_null);
    object.get_mut("items").into_iter().for_each(simplify);
    let properties = object.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flat_map(Map::values_mut).for_each(simplify);
}

/// Optional fields also accept null, but the schema does not say so.
fn drop_null(kind: &mut Value) {
    if let Value::Array(kinds) = kind {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            *kind = only.clone();
        }
    }
}

/// Parses the arguments of a call to the tool `name`.
pub(crate) fn parse<T: DeserializeOwned + JsonSchema>(
    name: &str,
    arguments: &Value,
) -> Result<T, ToolOutcome> {
    let given = match arguments {
        Value::Null => Value::Object(Map::new()),
        other => other.clone(),
    };
    let wrong = |complaint: String| {
        let schema = schema::<T>();
        let mut text = format!("Invalid arguments: {complaint}");
        for unknown in unknown_fields(&schema, &given) {
            text.push_str(&format!("\n{unknown}"));
        }
        text.push_str(&format!("\n{name} takes {}", usage(&schema)));
        ToolOutcome::failed(text)
    };
    if !given.is_object() {
        return Err(wrong("they must be a single JSON object".to_owned()));
    }
    serde_path_to_error::deserialize(&given).map_err(|error| wrong(error_text(&error)))
}

fn error_text(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let path = error.path().to_string();
    let mut words = error.inner().to_string();
    for (rust, plain) in [
        ("expected u32", "expected a whole number, 0 or more"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected a list"),
        ("map, expected", "object, expected"),
        ("expected a map", "expected an object"),
    ] {
        words = words.replace(rust, plain);
    }
    if let Some(at) = words.find("expected struct ") {
        words.replace_range(at.., "expected an object");
    }
    // The message quotes the wrong value, which may be a whole file.
    if let Some((at, _)) = words.char_indices().nth(300) {
        words.truncate(at);
        words.push('…');
    }
    if path == "." { words } else { format!("`{path}`: {words}") }
}

/// Messages about unknown fields. Unknown fields are not an error, but they often explain a missing field.
fn unknown_fields(schema: &Value, given: &Value) -> Vec<String> {
    let (Some(known), Some(given)) = (schema["properties"].as_object(), given.as_object()) else {
        return Vec::new();
    };
    let unknown = given.keys().filter(|key| !known.contains_key(*key));
    let messages = unknown.map(|key| match similar_field(key, known) {
        Some(near) => format!("unknown field `{key}`; did you mean `{near}`?"),
        None => format!("unknown field `{key}`"),
    });
    messages.take(5).collect()
}

/// Finds `path` for `file_path`, but not `oldText` for `old_string`.
fn similar_field<'a>(key: &str, known: &'a Map<String, Value>) -> Option<&'a str> {
    let lower = key.to_lowercase();
    let contained = known.keys().find(|name| lower.contains(&name.to_lowercase()));
    contained.map(String::as_str).or_else(|| matching::nearest(key, known.keys().map(String::as_str)))
}

/// All fields with their types. Optional fields have a question mark.
fn usage(schema: &Value) -> String {
    let Some(fields) = schema["properties"].as_object() else { return "nothing".to_owned() };
    let required =
        |name: &String| schema["required"].as_array().is_some_and(|all| all.iter().any(|r| r == name));
    let field = |(name, schema): (&String, &Value)| {
        let mark = if required(name) { "" } else { "?" };
        format!("{name}{mark}: {}", type_text(schema))
    };
    format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
}

fn type_text(schema: &Value) -> String {
    let choices = schema["enum"].as_array().cloned().or_else(|| {
        let all = schema["oneOf"].as_array()?;
        all.iter().map(|one| one.get("const").cloned()).collect()
    });
    if let Some(choices) = choices {
        return choices.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    match schema["type"].as_str() {
        Some("array") => format!("[{}]", type_text(&schema["items"])),
        Some("object") => usage(schema),
        Some(other) => other.to_owned(),
        None => "any".to_owned(),
    }
}
