//! The OpenAPI document: the routes from their handlers, the schemas from the types that are read and written.

use osier_protocol::client::AttachedState;
use osier_protocol::compare::Comparison;
use osier_protocol::engine_request::{DeletedSession, EngineDescription, ForkedSession, SessionList};
use osier_protocol::explore::TryComparison;
use osier_protocol::query::{CompactionDetails, SessionStatus};
use osier_protocol::usage::UsageReport;
use osier_protocol::{ClientError, CommandReply, ExploreCommand, MoveCommand, UserCommand};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use crate::api::{
    access, commands, engine, entries, explores, queries, rendered, sessions, tasks, typed_entries,
};

const DESCRIPTION: &str = "Sessions of Osier over HTTP. Send the token of the gateway as `Authorization: Bearer TOKEN`. \
    Errors are JSON objects with a stable `code`.";

/// Adds the schemas, the errors and the way to authenticate to the routes.
pub(crate) fn complete(routes: OpenApi) -> Value {
    let mut document = serde_json::to_value(routes).expect("a document always serializes");
    document["openapi"] = json!("3.1.0");
    document["info"] = json!({
        "title": "Osier", "version": env!("CARGO_PKG_VERSION"), "description": DESCRIPTION,
        "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
    });
    document["components"] = json!({
        "schemas": schemas(),
        "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        "responses": { "Error": {
            "description": "The request failed",
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ClientError" } } },
        } },
    });
    document["security"] = json!([{ "token": [] }]);
    let operations = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    for operation in operations.filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        operation["responses"]["default"] = json!({ "$ref": "#/components/responses/Error" });
    }
    document
}

/// The schemas of all bodies.
fn schemas() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    add_bodies(&mut generator);
    let mut schemas: Map<String, Value> = generator.take_definitions(true);
    // They are copied as they are stored, so no type describes them.
    let object = |description: &str| json!({ "type": "object", "description": description });
    let list = |name: &str, description: &str| json!({ "type": "array", "description": description, "items": { "$ref": format!("#/components/schemas/{name}") } });
    for (name, schema) in [
        ("Object", object("Any object")),
        ("Entry", object("An entry, as docs/session-format.md describes it")),
        ("Entries", list("Entry", "Entries")),
        ("EntryPage", entry_page()),
        ("Session", object("The `session` of a snapshot, as docs/json.md describes it")),
        ("Snapshot", object("A snapshot, as docs/json.md describes it")),
        ("Context", object("The messages, the model and the thinking level, as docs/json.md describes them")),
        ("TreeNode", object("A node of the tree, as docs/json.md describes it")),
        ("TreeNodes", list("TreeNode", "The nodes of a tree")),
    ] {
        schemas.insert(name.to_owned(), schema);
    }
    schemas
}

fn entry_page() -> Value {
    json!({
        "type": "object",
        "required": ["revision", "entries"],
        "properties": {
            "revision": { "type": "integer", "description": "The number of entries in the log" },
            "entries": { "$ref": "#/components/schemas/Entries" },
            "next": { "type": "integer", "description": "The `after` of the next page; absent on the last one" },
        },
    })
}

fn add_bodies(generator: &mut SchemaGenerator) {
    fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
        generator.subschema_for::<T>();
    }
    for add in [
        add::<ClientError>,
        add::<CommandReply>,
        add::<MoveCommand>,
        add::<UserCommand>,
        add::<SessionList>,
        add::<DeletedSession>,
        add::<ForkedSession>,
        add::<EngineDescription>,
        add::<AttachedState>,
        add::<SessionStatus>,
        add::<UsageReport>,
        add::<Comparison>,
        add::<CompactionDetails>,
        add::<sessions::CreateSession>,
        add::<sessions::UpdateSession>,
        add::<sessions::ForkBody>,
        add::<sessions::BranchBody>,
        add::<entries::StoredEntryBody>,
        add::<entries::UpdateEntry>,
        add::<typed_entries::AppendMessage>,
        add::<typed_entries::AppendThinkingLevel>,
        add::<typed_entries::AppendModelChange>,
        add::<typed_entries::AppendCompaction>,
        add::<typed_entries::AppendBranchSummary>,
        add::<typed_entries::LabelBody>,
        add::<typed_entries::NameBody>,
        add::<commands::PromptBody>,
        add::<commands::AnswerBody>,
        add::<commands::CompactBody>,
        add::<commands::UndoCompactionBody>,
        add::<commands::GraftBody>,
        add::<commands::AgentBody>,
        add::<commands::SessionSettings>,
        add::<queries::PromptCommands>,
        add::<queries::ForkPoints>,
        add::<queries::FoundEntries>,
        add::<explores::Explores>,
        add::<ExploreCommand>,
        add::<TryComparison>,
        add::<tasks::TaskBatches>,
        add::<tasks::SteerTask>,
        add::<tasks::CancelTasks>,
        add::<rendered::RenderedEntries>,
        add::<rendered::RenderBody>,
        add::<rendered::RenderedParts>,
        add::<access::AccessDescription>,
        add::<engine::NameList>,
        add::<engine::SettingList>,
        add::<engine::SettingValue>,
        add::<engine::SettingChanged>,
    ] {
        add(generator);
    }
}
