//! OpenAI's Responses API and compatible servers.

mod body;
mod stream;

use serde_json::{Value, json};

pub(crate) use body::build_request;
pub(crate) use stream::event_reader;

/// The id and phase of a text item, encoded as pi does.
fn text_signature(id: &str, phase: Option<&str>) -> String {
    match phase {
        Some(phase) => json!({ "v": 1, "id": id, "phase": phase }).to_string(),
        None => json!({ "v": 1, "id": id }).to_string(),
    }
}

/// Decodes the id and phase of a text item. Older files contain only the id.
fn read_text_signature(signature: &str) -> (String, Option<String>) {
    let owned = |value: &Value| value.as_str().map(str::to_owned);
    match serde_json::from_str::<Value>(signature) {
        Ok(value) if value["v"] == 1 => (owned(&value["id"]).unwrap_or_default(), owned(&value["phase"])),
        _ => (signature.to_owned(), None),
    }
}
