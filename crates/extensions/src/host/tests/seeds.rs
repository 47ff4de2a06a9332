//! The first examples of pi's tree navigation, as their documents have them. They call functions that the documents leave to the
//! reader, so a test adds these at the end; one place of the second example is `{ ... }`, which a test fills in.

use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, MoveCommand};
use serde_json::json;

use super::TestSession;

const SUMMARIZER: &str = include_str!("seeds/summarizer.ts");
const PRUNE: &str = include_str!("seeds/prune.ts");

#[tokio::test]
async fn the_custom_summarizer_summarizes_a_branch() {
    let missing = "async function myCustomSummarizer(entries) { return `${entries.length} entries`; }";
    let source = format!("{SUMMARIZER}{missing}");
    let mut session =
        TestSession::new(&[&source], [ScriptedTurn::reply("one"), ScriptedTurn::reply("two")]).await;
    session.turn("first question").await;
    session.turn("second question").await;
    let entries = session.entries().await;
    let first = entries.iter().find(|entry| entry["message"]["role"] == "assistant").unwrap();
    let target_id = Some(first["id"].as_str().unwrap().into());
    let command = MoveCommand { target_id, summarize: true, ..MoveCommand::default() };
    session.client_send(ClientCommand::Move(command)).await;
    let entries = session.entries().await;
    let summary = entries.iter().find(|entry| entry["type"] == "branch_summary").expect("a summary");
    assert!(summary["summary"].as_str().unwrap().contains("2 entries"), "{summary}");
    assert_eq!(summary["details"], json!({ "custom": true }));
}

#[tokio::test]
async fn prune_changes_what_the_model_gets_and_not_what_is_stored() {
    let missing = "
        function applyPruning(messages, rules) {
            const removed = (message) => rules.some(({ toolResultId }) => message.toolCallId === toolResultId);
            return messages.map((message) => (removed(message) ? { ...message, content: [{ type: 'text', text: '[removed]' }] } : message));
        }";
    let rule = r#"{ toolResultId: "call-1", strategy: "remove" }"#;
    let source = format!("{}{missing}", PRUNE.replace("{ ... }", rule));
    let call = ScriptedTurn::new().call("call-1", "ls", &json!({ "path": "." }));
    let mut session =
        TestSession::new(&[&source], [call, ScriptedTurn::reply("seen"), ScriptedTurn::reply("again")]).await;
    session.turn("look").await;
    session.send("/prune").await;
    session.turn("go on").await;
    assert!(session.request_texts().iter().any(|text| text == "[removed]"));
    let entries = session.entries().await;
    assert!(!entries.iter().any(|entry| entry.to_string().contains("[removed]")));
    assert!(entries.iter().any(|entry| entry["customType"] == "tool-result-pruning"));
}

#[tokio::test]
async fn older_names_work() {
    let source = r#"
        export default function (pi) {
            pi.registerCustomMessageRenderer("note", () => undefined);
            pi.registerCommand("where", {
                handler: async (ctx) => {
                    const { sessionManager } = ctx;
                    const path = sessionManager.getPath().map((entry) => entry.id);
                    ctx.ui.notify(`${path.at(-1) === sessionManager.getLeafUuid()} ${ctx.args}`);
                },
            });
            pi.on("before_compact", (event) => ({
                compaction: {
                    summary: `${event.preparation.messagesToSummarize.length > 0} ${event.previousCompactions.length}`,
                    firstKeptEntryId: event.preparation.firstKeptEntryId,
                    tokensBefore: event.preparation.tokensBefore,
                    details: { artifacts: [] },
                },
            }));
        }
    "#;
    let long = "word ".repeat(30_000);
    let replies = [ScriptedTurn::reply(&long), ScriptedTurn::reply(&long), ScriptedTurn::reply("c")];
    let mut session = TestSession::new(&[source], replies).await;
    for text in ["a", "b", "c"] {
        session.turn(text).await;
    }
    session.send("/where is it").await;
    assert_eq!(session.notified().await, "true is it");
    session.client_send(ClientCommand::Compact { focus: None }).await;
    let entries = session.entries().await;
    let compaction = entries.iter().find(|entry| entry["type"] == "compaction").expect("a compaction");
    assert_eq!(compaction["summary"], "true 0");
    assert_eq!(compaction["details"], json!({ "artifacts": [] }));
}
