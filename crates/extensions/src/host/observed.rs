//! Events that happened, in the form that handlers get. Entries are given by id; the runtime library replaces them.

use osier_agent::hooks::HookEvent;
use serde_json::{Value, json};

use super::hook::remove_nulls;

/// The event for handlers. `runtime/events.js` completes it. `describe` knows the models by their full names.
pub(super) fn to_event(event: &HookEvent, describe: impl Fn(&str) -> Option<Value>) -> Value {
    let mut value = json!(event);
    match event {
        HookEvent::SessionSwitched { .. } => remove_nulls(&mut value, &["previousSessionFile"]),
        HookEvent::ModelChanged { model, previous_model } => {
            let described = |name: &str| describe(name).unwrap_or_else(|| model_reference(name));
            value["model"] = described(model);
            value["previousModel"] = described(previous_model);
            value["source"] = json!("set");
        }
        _ => {}
    }
    value
}

/// A model by its full name, `provider/id`.
pub(super) fn model_reference(name: &str) -> Value {
    let (provider, id) = name.split_once('/').unwrap_or(("", name));
    json!({ "provider": provider, "id": id })
}
