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

#[tokio::test]
async fn a_model_without_a_key_is_found_but_not_available() {
    let source = "export default (pi) => pi.registerCommand('show', { handler: async (text, { modelRegistry: models, ui }) => {
            const { provider, id } = models.getAll().find(({ provider }) => provider === 'anthropic');
            const found = models.find(provider, id);
            const isAvailable = models.getAvailable().some((model) => model.provider === provider);
            const { ok } = await models.getApiKeyAndHeaders(found);
            ui.notify(JSON.stringify([found.id === id, found.baseUrl, isAvailable, models.hasConfiguredAuth(found), models.isUsingOAuth(found), ok]));
        } });";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/show").await;
    let expected = r#"[true,"https://api.anthropic.com",false,false,false,false]"#;
    assert_eq!(session.notified().await, expected);
}

/// A provider whose extension streams the replies.
const STREAMING: &str = "import { createAssistantMessageEventStream } from '@earendil-works/pi-ai';
    export default (pi) => pi.registerProvider('mine', {
        baseUrl: 'http://nowhere', apiKey: 'key1', api: 'my-api',
        models: [{ id: 'parrot', name: 'Parrot', reasoning: false, input: ['text'], contextWindow: 1000, maxTokens: 100,
            cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } }],
        streamSimple(model, context, options) {
            const stream = createAssistantMessageEventStream();
            const said = context.messages.at(-1).content.map((block) => block.text).join();
            const text = `${model.id} ${options.apiKey}: ${said}`;
            const message = { role: 'assistant', content: [{ type: 'text', text }], api: model.api, provider: model.provider,
                model: model.id, usage: { input: 3, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 5 }, stopReason: 'stop', timestamp: 1 };
            queueMicrotask(() => {
                stream.push({ type: 'start', partial: message });
                stream.push({ type: 'text_start', contentIndex: 0, partial: message });
                stream.push({ type: 'text_delta', contentIndex: 0, delta: text, partial: message });
                stream.push({ type: 'text_end', contentIndex: 0, content: text, partial: message });
                stream.push({ type: 'done', reason: 'stop', message });
                stream.end();
            });
            return stream;
        } });";

#[tokio::test]
async fn a_provider_of_an_extension_streams_replies_like_any_model() {
    let mut session = TestSession::new(&[STREAMING], []).await;
    let set = ClientCommand::SetModel { model: "mine/parrot".to_owned() };
    session.client_send(set).await;
    session.turn("hello").await;
    let entries = session.entries().await;
    let reply = &entries.iter().find(|entry| entry["message"]["role"] == "assistant").unwrap()["message"];
    assert_eq!(reply["content"][0]["text"], "parrot key1: hello");
    assert_eq!((&reply["provider"], &reply["model"]), (&"mine".into(), &"parrot".into()));
    assert!(reply["usage"]["cost"]["total"].as_f64() > Some(0.0), "{reply}");
    assert!(session.model.requests().is_empty(), "the model of the session was not called");
}

#[tokio::test]
async fn models_of_a_provider_are_listed_until_it_is_gone() {
    let source = "export default (pi) => {
        pi.registerProvider('local', { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'x', api: 'openai-completions', models: [{ id: 'm' }] });
        pi.registerCommand('models', { handler: (_, ctx) => {
            const find = () => ctx.modelRegistry.find('local', 'm')?.api ?? 'none';
            const before = find();
            pi.unregisterProvider('local');
            ctx.ui.notify(`${before} ${find()}`);
        } }); };";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/models").await;
    assert_eq!(session.notified().await, "openai-completions none");
}

#[tokio::test]
async fn keys_of_osier_are_not_sent_to_a_server_of_an_extension() {
    let source =
        "export default (pi) => pi.registerProvider('anthropic', { baseUrl: 'https://elsewhere.example' });";
    let mut session = TestSession::new(&[source], []).await;
    let (event, error) = session.failed().await;
    assert_eq!(event, "registerProvider");
    assert!(error.contains("without an apiKey"), "{error}");
}

#[tokio::test]
async fn a_virtual_model_chooses_another_one_for_each_request() {
    let source = "export default (pi) => {
        pi.registerVirtualModel({ provider: 'router', id: 'auto', thinkingLevels: ['low', 'high'], route(request, ctx) {
            const count = (request.state?.count ?? 0) + 1;
            ctx.ui.notify(`${count} ${request.reason} ${request.previous?.model.id}`);
            return { model: ctx.modelRegistry.getAvailable().find(({ provider }) => provider !== 'router'), thinkingLevel: 'off', state: { count } };
        } }); };";
    let turns = [ScriptedTurn::reply("one").usage(10, 5), ScriptedTurn::reply("two").usage(10, 5)];
    let mut session = TestSession::new(&[source], turns).await;
    session.client_send(ClientCommand::SetModel { model: "router/auto".to_owned() }).await;
    session.send("hello").await;
    assert_eq!(session.notified().await, "1 user undefined");
    session.turn_ended().await;
    session.send("again").await;
    let routed = session.notified().await;
    session.turn_ended().await;
    assert!(routed.starts_with("2 user ") && !routed.ends_with("undefined"), "{routed}");
    assert_eq!(session.request_texts().first().map(String::as_str), Some("hello"));
    let entries = session.entries().await;
    let replies: Vec<_> = entries.iter().filter(|entry| entry["message"]["role"] == "assistant").collect();
    assert_eq!(replies[1]["message"]["model"], "auto");
    assert_eq!(replies[1]["message"]["usage"]["totalTokens"], 15, "the reply has the cost");
    assert!(entries.iter().all(|entry| entry["type"] != "usage"), "it is counted once");
}

#[tokio::test]
async fn a_virtual_model_has_a_provider_of_its_own() {
    let source = "export default (pi) => pi.registerVirtualModel({ provider: 'anthropic', id: 'auto', route: () => ({}) });";
    let mut session = TestSession::new(&[source], []).await;
    let (_, error) = session.failed().await;
    assert!(error.contains("needs a provider of its own"), "{error}");
}
