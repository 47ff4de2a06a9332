//! Models, and calls of them by extensions.

use super::*;

#[tokio::test]
async fn an_extension_calls_a_model_and_the_cost_is_stored() {
    let source = "import { complete } from '@earendil-works/pi-ai'; \
        export default (pi) => pi.registerCommand('ask', { handler: async (text, ctx) => { \
            const reply = await complete(ctx.model, { systemPrompt: 'short', messages: [{ role: 'user', content: text, timestamp: 1 }] }, { maxTokens: 9 }); \
            ctx.ui.notify(`${reply.role} ${reply.content[0].text} ${reply.stopReason}`); } });";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("four").usage(10, 5)]).await;
    session.send("/ask two and two").await;
    assert_eq!(session.notified().await, "assistant four stop");
    let request = session.model.requests().pop().unwrap();
    assert_eq!((request.system.as_str(), request.max_tokens), ("short", Some(9)));
    assert_eq!(session.request_texts(), ["two and two"]);
    let entries = session.entries().await;
    let usage = entries.iter().find(|entry| entry["type"] == "usage").expect("the cost is stored");
    assert_eq!((&usage["kind"], &usage["note"]), (&"extension".into(), &"extension0.ts".into()));
    assert!(usage["usage"]["totalTokens"].as_u64() > Some(0));
}

#[tokio::test]
async fn a_model_is_described() {
    let source = "export default (pi) => pi.registerCommand('show', { handler: async (text, ctx) => { \
            const { provider, id, contextWindow, cost } = ctx.model; \
            const auth = await ctx.modelRegistry.getApiKeyAndHeaders(ctx.model); \
            ctx.ui.notify(JSON.stringify([typeof provider, typeof id, contextWindow > 0, typeof cost.input, /sk-/.test(JSON.stringify(auth)), ctx.modelRegistry.find('no', 'such') === undefined])); } });";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/show").await;
    assert_eq!(session.notified().await, r#"["string","string",true,"number",false,true]"#);
}
