//! Gates: what handlers return, and in which order they are asked.

use osier_model::scripted::ScriptedTurn;
use osier_protocol::{
    Client, ClientCommand, ClientError, ClientEvent, CommandReply, MoveCommand, Question, UserAnswer,
};
use osier_tools::user_bash::UserCommand;
use serde_json::json;
use tokio::task::JoinHandle;

use super::TestSession;

#[tokio::test]
async fn input_is_transformed_in_order_and_can_be_handled() {
    let first = r#"export default (pi) => pi.on("input", (event) => {
        if (event.text === "stop") return { action: "handled" };
        return { action: "transform", text: `${event.text}, first` };
    });"#;
    let second = r#"export default (pi) => {
        pi.on("input", (event) => ({ action: "continue" }));
        pi.on("input", async (event) => ({ action: "transform", text: `${event.text}, ${event.source}` }));
    };"#;
    let mut session = TestSession::new(&[first, second], [ScriptedTurn::reply("yes")]).await;
    assert_eq!(session.send("stop").await, CommandReply::Handled);
    session.turn("hello").await;
    assert_eq!(session.request_texts(), ["hello, first, rpc"]);
}

#[tokio::test]
async fn a_prompt_gets_messages_and_another_system_prompt() {
    let extension = |name: &str| {
        format!(
            r#"export default (pi) => pi.on("before_agent_start", (event) => ({{
                message: {{ customType: "{name}", content: `{name} saw ${{event.prompt}}`, display: false }},
                systemPrompt: `${{event.systemPrompt}}+{name}`,
            }}));"#
        )
    };
    let (first, second) = (extension("a"), extension("b"));
    let mut session = TestSession::new(&[&first, &second], [ScriptedTurn::reply("yes")]).await;
    session.turn("hello").await;
    assert_eq!(session.request_texts(), ["hello", "a saw hello", "b saw hello"]);
    let request = session.model.requests().pop().unwrap();
    assert!(request.system.ends_with("+a+b"), "{}", request.system);
    let kinds: Vec<_> = session.entries().await.iter().map(|entry| entry["customType"].clone()).collect();
    assert!(kinds.ends_with(&[json!("a"), json!("b"), json!(null)]), "{kinds:?}");
}

#[tokio::test]
async fn the_context_is_edited_for_one_request_and_nothing_is_stored() {
    let in_place = r#"export default (pi) => pi.on("context", (event) => { event.messages.pop(); });"#;
    let returned = r#"export default (pi) => pi.on("context", (event) => ({
        messages: [...event.messages, { role: "user", content: "added", timestamp: 1 }],
    }));"#;
    let untouched = r#"export default (pi) => pi.on("context", () => {});"#;
    let turns = [ScriptedTurn::reply("yes")];
    let mut session = TestSession::new(&[in_place, returned, untouched], turns).await;
    session.turn("hello").await;
    assert_eq!(session.request_texts(), ["added"]);
    let entries = serde_json::to_string(&session.entries().await).unwrap();
    assert!(entries.contains("hello") && !entries.contains("added"), "{entries}");
}

#[tokio::test]
async fn handlers_of_the_context_get_and_return_messages_in_their_own_roles() {
    let source = r#"export default (pi) => {
        pi.registerCommand("plan", { handler: async () => pi.sendMessage({ customType: "plan", content: "[PLAN]", display: false, details: { steps: 1 } }) });
        pi.on("context", (event) => ({ messages: event.messages.filter((message) => message.customType !== "plan") }));
        pi.on("context", (event, ctx) => {
            const shown = event.messages.map(({ role, customType, command, details }) => [role, customType ?? command, details?.steps].join(" "));
            return { messages: [...event.messages, { role: "custom", customType: "seen", content: shown.join(), display: false }] };
        });
    };"#;
    let other = r#"export default (pi) => {
        pi.registerCommand("goal", { handler: async () => pi.sendMessage({ customType: "goal", content: "[GOAL]", display: false, details: { steps: 2 } }) });
    };"#;
    let mut session = TestSession::new(&[source, other], [ScriptedTurn::reply("yes")]).await;
    session.send("/plan").await;
    session.send("/goal").await;
    let command = UserCommand { command: "echo hi".to_owned(), exclude_from_context: false };
    session.client_send(ClientCommand::RunShell(command)).await;
    session.turn("hello").await;
    let texts = session.request_texts();
    assert_eq!(texts[0], "[GOAL]");
    assert!(texts[1].starts_with("The user ran `echo hi`"), "{texts:?}");
    assert_eq!(texts[2..], ["hello", "custom goal 2,bashExecution echo hi ,user  "]);
}

#[tokio::test]
async fn the_last_answer_about_a_move_wins_and_the_first_cancel_ends_it() {
    let label = |text: &str| {
        format!(r#"export default (pi) => pi.on("session_before_tree", () => ({{ label: "{text}" }}));"#)
    };
    let (first, second) = (label("one"), label("two"));
    let moved = r#"export default (pi) => pi.on("session_tree", (event, ctx) => {
        ctx.ui.notify(`${event.oldLeafId !== event.newLeafId} ${event.fromExtension}`);
    });"#;
    let turns = [ScriptedTurn::reply("a"), ScriptedTurn::reply("b")];
    let mut session = TestSession::new(&[&first, &second, moved], turns).await;
    session.turn("hello").await;
    session.turn("again").await;
    let entries = session.entries().await;
    let reply = entries.iter().find(|entry| entry["message"]["role"] == "assistant").unwrap();
    let target = reply["id"].as_str().unwrap().to_owned();
    let command = MoveCommand { target_id: Some(target.as_str().into()), ..MoveCommand::default() };
    session.client_send(ClientCommand::Move(command)).await;
    assert_eq!(session.notified().await, "true false");
    let label = session.client.live().session().tree().marks().label(&target).map(|label| label.text.clone());
    assert_eq!(label.as_deref(), Some("two"));
}

#[tokio::test]
async fn a_handler_that_returns_a_wrong_shape_is_reported() {
    let extension = r#"export default (pi) => pi.on("input", () => ({ action: "dance" }));"#;
    let mut session = TestSession::new(&[extension], [ScriptedTurn::reply("yes")]).await;
    session.send("hello").await;
    let (event, error) = session.failed().await;
    assert_eq!(event, "input");
    assert!(error.starts_with("it returned an unexpected value"), "{error}");
    assert_eq!(session.request_texts_when_done().await, ["hello"]);
}

#[tokio::test]
async fn one_parameter_of_a_command_is_the_context_or_the_arguments() {
    let extension = r#"export default (pi) => {
        let ui;
        pi.on("session_start", (_event, ctx) => { ui = ctx.ui; });
        pi.registerCommand("args", { handler: (text) => { ui.notify(`args ${text.trim()}`); } });
        pi.registerCommand("ctx", { handler: async (ctx) => { ctx.ui.notify(`ctx ${ctx.args}`); } });
    };"#;
    let mut session = TestSession::new(&[extension], []).await;
    session.send("/args one").await;
    assert_eq!(session.notified().await, "args one");
    session.send("/ctx two").await;
    assert_eq!(session.notified().await, "ctx two");
}

#[tokio::test]
async fn messages_of_extensions_are_stored_or_start_a_turn() {
    let extension = r#"export default (pi) => {
        const send = (options) => pi.sendMessage({ customType: "note", content: "remember", display: true }, options);
        pi.registerCommand("store", { handler: () => send() });
        pi.registerCommand("turn", { handler: () => send(true) });
        pi.registerCommand("ask", { handler: () => pi.sendUserMessage("what now?") });
    };"#;
    let turns = [ScriptedTurn::reply("one"), ScriptedTurn::reply("two")];
    let mut session = TestSession::new(&[extension], turns).await;
    session.send("/store").await;
    session.send("/turn").await;
    session.turn_ended().await;
    assert_eq!(session.request_texts(), ["remember", "remember"]);
    session.send("/ask").await;
    session.turn_ended().await;
    assert_eq!(session.request_texts(), ["remember", "remember", "one", "what now?"]);
}

#[tokio::test]
async fn a_request_can_be_replaced() {
    let source = "export default (pi) => { \
        pi.on('before_provider_request', (event) => { event.payload.messages.push({ role: 'user', content: [{ type: 'text', text: 'added' }] }); return event.payload; }); \
        pi.on('before_provider_request', (event) => ({ ...event.payload, system: `${event.payload.messages.length} messages` })); };";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("hi")]).await;
    session.turn("go").await;
    assert_eq!(session.request_texts().last().map(String::as_str), Some("added"));
    assert_eq!(session.model.requests().pop().unwrap().system, "2 messages");
}

#[tokio::test]
async fn a_request_of_a_wrong_shape_is_reported_and_not_sent() {
    let source = "export default (pi) => pi.on('before_provider_request', () => ({ messages: [7] }));";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("hi")]).await;
    session.send("go").await;
    let (event, error) = session.failed().await;
    assert_eq!(event, "before_provider_request");
    assert!(error.contains("unexpected value"), "{error}");
    session.turn_ended().await;
    assert_eq!(session.request_texts().last().map(String::as_str), Some("go"));
}

#[tokio::test]
async fn a_handler_with_one_parameter_may_be_a_method_or_take_the_context_apart() {
    let source = "export default (pi) => {
        pi.registerCommand('method', { handler(ctx) { ctx.ui.notify('method'); } });
        pi.registerCommand('async', { async handler(context) { context.ui.notify('async'); } });
        pi.registerCommand('apart', { handler: ({ ui }) => ui.notify('apart') });
        let saved;
        pi.on('session_start', (_, ctx) => { saved = ctx; });
        pi.registerCommand('args', { handler(args) { saved.ui.notify(args); } });
    };";
    let mut session = TestSession::new(&[source], []).await;
    for (command, expected) in
        [("/method", "method"), ("/async", "async"), ("/apart", "apart"), ("/args a b", "a b")]
    {
        session.send(command).await;
        assert_eq!(session.notified().await, expected);
    }
}

#[tokio::test]
async fn actions_happen_in_order_and_are_visible_at_once() {
    let source = "export default (pi) => {
        const act = (ctx, where) => {
            pi.sendMessage({ customType: `${where} message`, content: 'x', display: true });
            pi.appendEntry(`${where} entry`);
            pi.setThinkingLevel('high');
            pi.setThinkingLevel('low');
            const stored = ctx.sessionManager.getEntries().map((entry) => entry.customType).filter(Boolean);
            return `${stored.join()} ${pi.getThinkingLevel()} ${ctx.thinkingLevel}`;
        };
        pi.registerCommand('go', { handler: (_, ctx) => ctx.ui.notify(act(ctx, 'first')) });
    };";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/go").await;
    assert_eq!(session.notified().await, "first message,first entry low low");
    let kinds: Vec<_> = session.entries().await.iter().map(|entry| entry["customType"].clone()).collect();
    assert!(kinds.starts_with(&[json!("first message"), json!("first entry")]), "{kinds:?}");
}

#[tokio::test]
async fn prompts_are_sent_in_order() {
    let source = "export default (pi) => pi.registerCommand('go', { handler: () => {
        for (const text of ['a', 'b', 'c', 'd']) pi.sendUserMessage(text, { deliverAs: 'followUp' });
    } });";
    let slow = "export default (pi) => pi.on('input', async ({ text }) => { if (text === 'a') await new Promise((done) => setTimeout(done, 100)); });";
    let turns = ["1", "2", "3", "4"].map(ScriptedTurn::reply);
    let mut session = TestSession::new(&[source, slow], turns).await;
    session.send("/go").await;
    let is_last = |entries: &[serde_json::Value]| {
        entries.iter().filter(|entry| entry["message"]["role"] == "user").count() == 4
    };
    while !is_last(&session.entries().await) {
        session.until(|event| matches!(event, osier_protocol::ClientEvent::Entry(_))).await;
    }
    let entries = session.entries().await;
    let users = entries.iter().filter(|entry| entry["message"]["role"] == "user");
    let texts: Vec<_> = users
        .map(|entry| entry["message"]["content"][0]["text"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(texts, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn a_handler_of_the_end_may_act_while_the_user_cancels() {
    let source = "export default (pi) => {
        pi.on('agent_start', (_, ctx) => ctx.ui.notify('started'));
        pi.on('agent_end', (_, ctx) => {
            pi.sendMessage({ customType: 'end', content: 'x', display: true });
            pi.sendMessage({ customType: 'more', content: 'x', display: true }, { triggerTurn: true, deliverAs: 'followUp' });
            pi.setThinkingLevel('high');
            ctx.ui.notify('ended');
        });
    };";
    let mut session =
        TestSession::new(&[source], [ScriptedTurn::new().hang(), ScriptedTurn::reply("no")]).await;
    session.send("go").await;
    assert_eq!(session.notified().await, "started");
    session.client_send(ClientCommand::Cancel).await;
    let shown = session.until(|event| matches!(event, osier_protocol::ClientEvent::Extension(_))).await;
    assert!(format!("{shown:?}").contains("ended"), "the handler was not stopped: {shown:?}");
}

const SLOW: &str = r#"export default (pi) => {
    pi.on("input", async (event, ctx) => {
        if (event.text !== "check me") return;
        ctx.ui.notify("checks");
        await new Promise(() => {});
    });
    pi.registerCommand("wait", { handler: async (_args, ctx) => { ctx.ui.notify("waits"); await new Promise(() => {}); } });
    pi.registerCommand("loop", { handler: (_args, ctx) => { ctx.ui.notify("loops"); while (true) {} } });
    pi.registerCommand("ask", { handler: async (_args, ctx) => ctx.ui.notify(`got ${await ctx.ui.input("Name?")}`) });
}"#;

/// Starts a prompt that does not end by itself, and waits until the extension has said something.
async fn start(
    session: &mut TestSession,
    prompt: &str,
) -> (JoinHandle<Result<CommandReply, ClientError>>, Option<String>, u64) {
    let (client, prompt) = (session.client.clone(), ClientCommand::prompt(prompt));
    let sent = tokio::spawn(async move { client.send(prompt).await });
    let started = session.until(|event| matches!(event, ClientEvent::ExtensionWorkStarted { .. })).await;
    let ClientEvent::ExtensionWorkStarted { id, command } = started else {
        unreachable!("it was waited for")
    };
    session.notified().await;
    (sent, command, id)
}

#[tokio::test]
async fn a_command_that_runs_is_shown_and_can_be_canceled() {
    for cancel in [ClientCommand::Cancel, ClientCommand::Stop] {
        for name in ["wait", "loop"] {
            let mut session = TestSession::new(&[SLOW], []).await;
            let (sent, command, started) = start(&mut session, &format!("/{name}")).await;
            assert_eq!(command.as_deref(), Some(name));
            let running = session.client.attach(None).await.unwrap().state.running;
            assert!(matches!(running[..], [ClientEvent::ExtensionWorkStarted { .. }]), "{running:?}");
            session.client_send(cancel.clone()).await;
            session.until(|event| *event == ClientEvent::ExtensionWorkEnded { id: started }).await;
            assert_eq!(session.notified().await, format!("Canceled /{name}"));
            assert_eq!(sent.await.unwrap().unwrap(), CommandReply::Handled);
            assert!(session.client.attach(None).await.unwrap().state.running.is_empty());
        }
    }
}

#[tokio::test]
async fn a_prompt_that_is_checked_is_shown_and_can_be_canceled() {
    let mut session = TestSession::new(&[SLOW], [ScriptedTurn::reply("yes")]).await;
    let (sent, command, started) = start(&mut session, "check me").await;
    assert_eq!(command, None);
    session.client_send(ClientCommand::Cancel).await;
    session.until(|event| *event == ClientEvent::ExtensionWorkEnded { id: started }).await;
    assert!(sent.await.unwrap().is_err(), "the prompt goes back to the editor");
    session.turn("hello").await;
    assert_eq!(session.request_texts(), ["hello"]);
}

#[tokio::test]
async fn a_dialog_names_its_extension_and_a_command_with_a_dialog_is_not_canceled() {
    let mut session = TestSession::in_terminal(&[SLOW], []).await;
    let client = session.client.clone();
    let sent = tokio::spawn(async move { client.send(ClientCommand::prompt("/ask")).await });
    let asked = session.until(|event| matches!(event, ClientEvent::Asked { .. })).await;
    let ClientEvent::Asked { id, question, .. } = asked else { unreachable!("it was waited for") };
    let Question::Dialog(dialog) = *question else { panic!("a dialog") };
    assert_eq!(dialog.extension.as_deref(), Some("extension0.ts"));
    session.client_send(ClientCommand::Cancel).await;
    let answer = UserAnswer::Text { text: "Ada".to_owned() };
    session.client_send(ClientCommand::Answer { question: id, answer }).await;
    assert_eq!(session.notified().await, "got Ada");
    assert_eq!(sent.await.unwrap().unwrap(), CommandReply::Handled);
}
