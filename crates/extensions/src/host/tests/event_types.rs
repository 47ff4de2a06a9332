//! The events that handlers get have the fields that `osier.d.ts` declares: no others, and all that are not optional.

use std::collections::{BTreeMap, BTreeSet};

use osier_engine::{ForkFrom, ForkRequest};
use osier_protocol::{MoveCommand, ThinkingLevel, UserCommand};
use serde_json::json;

use super::*;

/// What Osier never sends, and old names of events.
const NOT_SENT: [&str; 4] = ["project_trust", "before_compact", "before_switch", "switch"];

/// The declared events with the fields of their types; `true` if a field is optional.
fn declared_events() -> BTreeMap<String, BTreeMap<String, bool>> {
    let text = without_comments(crate::TYPES);
    let mut events = BTreeMap::new();
    for rest in text.split("on(event: \"").skip(1) {
        let (name, rest) = rest.split_once('"').expect("the name ends");
        let (_, handler) = rest.split_once("ExtensionHandler<").expect("a handler");
        let of = split_at_depth(handler, |ch| ch == ',' || ch == '>').0;
        events.insert(name.to_owned(), fields_of(of, &text));
    }
    events
}

fn without_comments(text: &str) -> String {
    let mut parts = text.split("/**");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once("*/").map_or("", |(_, rest)| rest))
}

/// The text before the first character that fits outside of all brackets, and the rest.
fn split_at_depth(text: &str, fits: impl Fn(char) -> bool) -> (&str, &str) {
    let mut depth = 0;
    for (at, ch) in text.char_indices() {
        if depth == 0 && fits(ch) {
            return text.split_at(at);
        }
        match ch {
            '{' | '(' | '[' | '<' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            '>' if !text[..at].ends_with('=') => depth -= 1,
            _ => {}
        }
    }
    (text, "")
}

/// The fields of a type: of an object, of a named type, or of both.
fn fields_of(of: &str, text: &str) -> BTreeMap<String, bool> {
    let (first, rest) = split_at_depth(of.trim(), |ch| ch == '&');
    let mut fields = match first.trim().strip_prefix('{') {
        Some(body) => body_fields(body.trim_end().trim_end_matches('}')),
        None => named_fields(first.trim(), text),
    };
    if let Some(rest) = rest.strip_prefix('&') {
        fields.extend(fields_of(rest, text));
    }
    fields
}

fn named_fields(name: &str, text: &str) -> BTreeMap<String, bool> {
    let name = name.split('<').next().unwrap_or(name);
    let is_name_end = |rest: &&str| !rest.starts_with(|ch: char| ch.is_alphanumeric());
    if let Some(rest) = text.split(&format!("interface {name}")).skip(1).find(is_name_end) {
        let (head, body) = rest.split_once('{').expect("an interface has a body");
        let mut fields = body_fields(split_at_depth(body, |ch| ch == '}').0);
        let after_parameters = head.rsplit_once('>').map_or(head, |(_, rest)| rest);
        if let Some((_, parents)) = after_parameters.split_once("extends ") {
            for parent in parents.split(',') {
                fields.extend(named_fields(parent.trim(), text));
            }
        }
        return fields;
    }
    let rest = text.split(&format!("type {name}")).skip(1).find(is_name_end).expect("the type is declared");
    let (_, value) = rest.split_once(" = ").expect("a type has a value");
    fields_of(split_at_depth(value, |ch| ch == ';').0, text)
}

fn body_fields(body: &str) -> BTreeMap<String, bool> {
    let (mut fields, mut rest) = (BTreeMap::new(), body);
    while !rest.trim().is_empty() {
        let (field, after) = split_at_depth(rest, |ch| ch == ';');
        rest = after.strip_prefix(';').unwrap_or_default();
        if let Some((name, _)) = field.split_once(':') {
            let name = name.trim().trim_start_matches("readonly ");
            fields.insert(name.trim_end_matches('?').to_owned(), name.ends_with('?'));
        }
    }
    fields
}

/// An extension that says in the end which fields the first event of each name has. It adds a model with a server, and a tool that streams.
fn recorder(events: impl Iterator<Item = String>, url: &str) -> String {
    let names = json!(events.collect::<Vec<_>>());
    format!(
        "export default (pi) => {{
            const seen = [];
            for (const name of {names}) {{
                const off = pi.on(name, (event, ctx) => {{
                    off();
                    seen.push([event.type, Object.keys(event).filter((field) => event[field] !== undefined)]);
                    if (name === 'session_shutdown') ctx.ui.notify(JSON.stringify(seen));
                }});
            }}
            pi.registerProvider('local', {{ baseUrl: '{url}', apiKey: 'k', api: 'openai-completions', models: [{{ id: 'm', reasoning: true }}] }});
            pi.registerTool({{ name: 'mine', description: 'd', parameters: {{ type: 'object', properties: {{}} }},
                execute: async (id, params, signal, onUpdate) => {{
                    onUpdate({{ content: [{{ type: 'text', text: 'half' }}] }});
                    return {{ content: [{{ type: 'text', text: 'whole' }}] }};
                }} }});
            pi.registerCommand('ask', {{ handler: async (_, ctx) => {{ await ctx.ui.confirm('Really?', 'x', {{ timeout: 1 }}); }} }});
            pi.registerCommand('name', {{ handler: async () => pi.setSessionName('willow') }});
        }};"
    )
}

/// Does what causes every event.
async fn cause_all_events(session: &mut TestSession) {
    for text in ["a", "b", "c"] {
        session.turn(text).await;
    }
    session.client.send(ClientCommand::Compact { focus: None }).await.unwrap();
    session.client.send(ClientCommand::Compact { focus: None }).await.unwrap_err();
    let command = UserCommand { command: "true".to_owned(), exclude_from_context: false };
    session.client_send(ClientCommand::RunShell(command)).await;
    session.send("/ask").await;
    session.send("/name").await;
    let entries = session.entries().await;
    let reply = entries.iter().rfind(|entry| entry["message"]["role"] == "assistant").unwrap();
    let target_id = Some(reply["id"].as_str().unwrap().into());
    session.client_send(ClientCommand::Move(MoveCommand { target_id, ..MoveCommand::default() })).await;
    let live = session.client.live().clone();
    let request = ForkRequest { from: ForkFrom::CurrentPosition, store: None, name: None };
    session.engine.fork(live.session(), &request).await.unwrap().expect("no handler refuses");
    assert!(session.engine.may_switch(live.session(), Some("other".to_owned())).await);
    let reason = osier_agent::hooks::SwitchReason::Resume;
    session.engine.announce_switch(live.session(), live.session(), reason).await;
    session.client_send(ClientCommand::SetModel { model: "local/m".to_owned() }).await;
    session.client_send(ClientCommand::SetThinking { level: ThinkingLevel::High }).await;
    session.turn("over the network").await;
    session.send("/reload").await;
}

#[tokio::test]
async fn events_have_the_fields_that_are_declared() {
    let declared = declared_events();
    assert!(declared["session_start"].contains_key("reason") && declared["tool_call"]["parentToolCallId"]);
    let (url, served) = super::requests::start_server();
    let source = recorder(declared.keys().cloned(), &url);
    let long = "word ".repeat(30_000);
    let call = ScriptedTurn::new().call("call-1", "mine", &json!({}));
    let replies = [call, ScriptedTurn::reply(&long), ScriptedTurn::reply(&long), ScriptedTurn::reply("c")];
    let replies = replies.into_iter().chain((0..4).map(|_| ScriptedTurn::reply("summary")));
    let mut session = TestSession::new(&[&source], replies).await;
    cause_all_events(&mut session).await;
    served.join().unwrap();
    let events: Vec<(String, BTreeSet<String>)> = loop {
        if let Ok(events) = serde_json::from_str(&session.notified().await) {
            break events;
        }
    };
    for (name, fields) in &events {
        let declared = &declared[name];
        for field in fields {
            assert!(declared.contains_key(field), "{name} has the field {field}, which is not declared");
        }
        for (field, is_optional) in declared {
            assert!(*is_optional || fields.contains(field), "{name} lacks the field {field}: {fields:?}");
        }
    }
    let seen: BTreeSet<&String> = events.iter().map(|(name, _)| name).collect();
    let missing: Vec<&String> =
        declared.keys().filter(|name| !seen.contains(name) && !NOT_SENT.contains(&&***name)).collect();
    assert!(missing.is_empty(), "nothing in this test causes {missing:?}");
}
