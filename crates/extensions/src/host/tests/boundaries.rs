//! Events at the edges of steps, turns, requests and dialogs.

use serde_json::json;

use super::*;

#[tokio::test]
async fn the_end_of_a_step_has_its_outcome_and_the_context_that_would_follow() {
    let source = "export default (pi) => pi.on('turn_end', (event, ctx) => {
        const before = event.context;
        event.entries.push({ type: 'context_edit', targetId: event.messageEntryId, replacement: { content: 'edited' } });
        const after = event.context;
        ctx.ui.notify(JSON.stringify([event.outcome, before.contextMessages.map(({ role }) => role), before.canContinue, after.llmMessages.at(-1).content[0].text]));
    });";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("yes")]).await;
    session.send("hello").await;
    assert_eq!(session.notified().await, r#"["completed",["user","assistant"],false,"edited"]"#);
}

#[tokio::test]
async fn before_a_turn_ends_handlers_may_store_entries_and_go_on() {
    let source = "export default (pi) => { let asked = 0;
        pi.on('agent_before_settle', (event, ctx) => {
            asked += 1;
            ctx.ui.notify(`${asked} ${event.outcome} ${event.context.llmMessages.length}`);
            if (asked > 1) return;
            return { entries: [{ type: 'custom_message', customType: 'check', content: 'Sure?', display: true }], continue: true };
        }); };";
    let turns = [ScriptedTurn::reply("yes"), ScriptedTurn::reply("quite")];
    let mut session = TestSession::new(&[source], turns).await;
    session.send("really?").await;
    assert_eq!(session.notified().await, "1 completed 2");
    assert_eq!(session.notified().await, "2 completed 4");
    session.turn_ended().await;
    assert_eq!(session.request_texts(), ["really?", "yes", "Sure?"]);
}

#[tokio::test]
async fn a_handler_owns_the_whole_transcript_of_a_request() {
    let source = "export default (pi) => {
        pi.on('context', ({ messages }) => { messages.push({ role: 'user', content: [{ type: 'text', text: 'first' }], timestamp: 1 }); });
        pi.on('context_with_system', ({ messages }) => {
            const [system, ...rest] = messages;
            const toolsAdded = system.toolsAdded.filter(({ name }) => name === 'read');
            return { messages: [{ role: 'system', content: 'Be brief.', toolsAdded, timestamp: 1 }, ...rest, { role: 'user', content: [{ type: 'text', text: 'unstored words' }], timestamp: 1 }] };
        });
        pi.on('context_with_system', ({ messages }) => { messages[0].sections = { more: 'Be kind.' }; }); };";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("yes")]).await;
    session.turn("hello").await;
    assert_eq!(session.request_texts(), ["hello", "first", "unstored words"]);
    let request = session.model.requests().pop().unwrap();
    assert_eq!(request.system, "Be brief.\n\nBe kind.");
    assert_eq!(request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["read"]);
    assert!(session.entries().await.iter().all(|entry| !entry.to_string().contains("unstored words")));
}

#[tokio::test]
async fn observers_learn_that_a_dialog_waits_for_the_user() {
    let observer = "export default (pi) => {
        pi.on('ui_prompt_start', (event) => pi.appendEntry('start', event));
        pi.on('ui_prompt_end', (event) => pi.appendEntry('end', event)); };";
    let asker = "export default (pi) => pi.registerCommand('ask', { handler: async (_, ctx) => { await ctx.ui.confirm('Really?', 'x', { timeout: 1 }); } });";
    let session = TestSession::new(&[observer, asker], []).await;
    session.send("/ask").await;
    let entries = session.entries().await;
    let seen: Vec<_> = entries.iter().map(|entry| (&entry["customType"], &entry["data"]["kind"])).collect();
    assert_eq!(seen, [(&json!("start"), &json!("confirm")), (&json!("end"), &json!("confirm"))]);
    assert_eq!(entries[1]["data"]["title"], "Really?");
}

#[tokio::test]
async fn a_compaction_that_fails_says_why_and_whose_it_was() {
    let source = "export default (pi) => {
        pi.on('session_before_compact', ({ preparation }) => ({ compaction: { summary: ' ', firstKeptEntryId: preparation.firstKeptEntryId, tokensBefore: 1 } }));
        pi.on('session_compact_failed', (event, ctx) => ctx.ui.notify(JSON.stringify([event.reason, event.aborted, event.willRetry, event.fromExtension, typeof event.errorMessage]))); };";
    let long = "word ".repeat(30_000);
    let replies = [ScriptedTurn::reply(&long), ScriptedTurn::reply(&long), ScriptedTurn::reply("c")];
    let mut session = TestSession::new(&[source], replies).await;
    let compact = ClientCommand::Compact { focus: None };
    session.client.send(compact.clone()).await.unwrap_err();
    assert_eq!(session.notified().await, r#"["manual",false,false,false,"string"]"#, "nothing to compact");
    for text in ["a", "b", "c"] {
        session.turn(text).await;
    }
    session.client.send(compact).await.unwrap_err();
    assert_eq!(session.notified().await, r#"["manual",false,false,true,"string"]"#);
}
