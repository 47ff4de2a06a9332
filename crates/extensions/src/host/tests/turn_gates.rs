//! Gates of a turn and of shell commands.

use osier_protocol::UserCommand;
use serde_json::json;

use super::*;

#[tokio::test]
async fn message_end_replaces_a_message_of_the_same_role() {
    let source = "export default (pi) => pi.on('message_end', ({ message }) => {
        if (message.role === 'assistant') return { message: { ...message, content: [{ type: 'text', text: 'changed' }] } };
        if (message.role === 'user') return { message: { ...message, role: 'assistant' } };
    });";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("first")]).await;
    session.send("hello").await;
    let (event, error) = session.failed().await;
    assert!(event == "message_end" && error.contains("another role"), "{event}: {error}");
    session.turn_ended().await;
    let entries = session.entries().await;
    let texts: Vec<&Value> =
        entries.iter().filter_map(|entry| entry["message"].pointer("/content/0/text")).collect();
    assert!(texts.contains(&&json!("hello")) && texts.contains(&&json!("changed")), "{texts:?}");
    assert!(!texts.contains(&&json!("first")));
}

#[tokio::test]
async fn turn_end_stores_entries_and_asks_the_model_again() {
    let source = "export default (pi) => { let asked = false;
        pi.on('turn_end', (event) => {
            if (asked) return;
            asked = true;
            const note = { type: 'custom_message', customType: 'check', content: 'Are you sure?', display: true };
            return { entries: [note], continue: true };
        });
        pi.on('turn_end', (event) => { if (event.entries.length) return { entries: [...event.entries, { type: 'custom', customType: 'seen', data: event.continue }] }; });
    };";
    let turns = [ScriptedTurn::reply("yes"), ScriptedTurn::reply("quite")];
    let mut session = TestSession::new(&[source], turns).await;
    session.turn("really?").await;
    assert_eq!(session.request_texts(), ["really?", "yes", "Are you sure?"]);
    let entries = session.entries().await;
    let seen = entries.iter().find(|entry| entry["customType"] == "seen").expect("the second entry");
    assert_eq!(seen["data"], true);
}

#[tokio::test]
async fn an_invalid_proposal_is_dropped_as_a_whole() {
    let source = "export default (pi) => pi.on('turn_end', () => ({
        entries: [{ type: 'custom', customType: 'good' }, { type: 'message', message: { role: 'user', content: 'x' } }] }));";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("yes")]).await;
    session.turn("hello").await;
    assert!(session.entries().await.iter().all(|entry| entry["customType"] != "good"));
}

fn shell(command: &str) -> ClientCommand {
    ClientCommand::RunShell(UserCommand { command: command.to_owned(), exclude_from_context: false })
}

#[tokio::test]
async fn user_bash_runs_a_command_in_its_own_way_or_refuses_it() {
    let source = "export default (pi) => pi.on('user_bash', ({ command }) => {
        if (command === 'no') throw new Error('not here');
        if (command === 'far') return { operations: { exec: async (c, cwd, { onData }) => { onData(`${c}!`); return { exitCode: 3 }; } } };
        if (command === 'made') return { result: { output: 'made up', exitCode: 0, cancelled: false, truncated: false } };
    });";
    let session = TestSession::new(&[source], []).await;
    for command in ["made", "far", "echo real"] {
        session.client_send(shell(command)).await;
    }
    let refused = session.client.send(shell("no")).await.unwrap_err();
    assert!(refused.to_string().contains("not here"), "{refused}");
    let entries = session.entries().await;
    let runs = entries.iter().map(|entry| &entry["message"]).filter(|m| m["role"] == "bashExecution");
    let runs: Vec<_> = runs.map(|m| (m["output"].as_str().unwrap(), m["exitCode"].as_i64())).collect();
    assert_eq!(runs, [("made up", Some(0)), ("far!", Some(3)), ("real", Some(0))]);
}

#[tokio::test]
async fn a_reply_is_observed_while_it_grows_and_in_order() {
    let source = "export default (pi) => { const seen = [];
        pi.on('message_start', ({ message }) => seen.push(`+${message.role}`));
        pi.on('message_update', ({ message, assistantMessageEvent: e }) => { if (e.type === 'text_delta') seen.push(message.content[e.contentIndex].text); });
        pi.on('message_end', ({ message }) => { seen.push(`-${message.role}`); });
        pi.on('agent_end', (_, ctx) => ctx.ui.notify(seen.join(' '))); };";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("yes")]).await;
    session.send("hello").await;
    let seen = session.notified().await;
    assert!(seen.starts_with("+user -user +assistant y") && seen.ends_with("yes -assistant"), "{seen}");
}

#[tokio::test]
async fn folders_of_an_extension_have_templates() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("prompts")).unwrap();
    std::fs::write(folder.path().join("prompts/fix.md"), "Fix $1 now.").unwrap();
    let source = "export default (pi) => pi.on('resources_discover', () => ({ promptPaths: ['prompts'] }));";
    std::fs::write(folder.path().join("x.ts"), source).unwrap();
    let files = [folder.path().join("x.ts")];
    let mut session = TestSession::with_files(&files, [ScriptedTurn::reply("done")]).await;
    session.turn("/fix a.rs").await;
    assert_eq!(session.request_texts(), ["Fix a.rs now."]);
}

#[tokio::test]
async fn files_of_an_extension_are_templates_and_skills() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("fix.md", "Fix $1 now.");
    write("SKILL.md", "---\nname: planting\ndescription: Plants willows\n---\nDig.");
    write(
        "x.ts",
        "export default (pi) => pi.on('resources_discover', () => ({ promptPaths: ['fix.md'], skillPaths: ['SKILL.md'] }));",
    );
    let files = [folder.path().join("x.ts")];
    let turns = [ScriptedTurn::reply("done"), ScriptedTurn::reply("done")];
    let mut session = TestSession::with_files(&files, turns).await;
    session.turn("/fix a.rs").await;
    assert_eq!(session.request_texts(), ["Fix a.rs now."]);
    let request = session.model.requests().pop().unwrap();
    assert!(request.system.contains("- planting: Plants willows"), "{}", request.system);
    session.turn("/skill:planting deep").await;
    let request = session.model.requests().pop().unwrap();
    let last = format!("{:?}", request.messages.last().unwrap());
    assert!(last.contains("Dig.") && last.contains("deep"), "{last}");
}

#[tokio::test]
async fn a_message_with_a_slash_is_sent_as_it_is_unless_it_asks_to_be_expanded() {
    let source = "export default (pi) => {
        pi.on('input', ({ text, source }, ctx) => ctx.ui.notify(`${source} ${text}`));
        pi.registerCommand('send', { handler: () => pi.sendUserMessage('/name it') });
        pi.registerCommand('run', { handler: () => pi.sendUserMessage('/name it', { expandPromptTemplates: true }) });
        pi.registerCommand('name', { handler: (args, ctx) => ctx.ui.notify(`command ${args}`) }); };";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("done")]).await;
    session.send("/run").await;
    assert_eq!(session.notified().await, "command it");
    session.send("/send").await;
    assert_eq!(session.notified().await, "extension /name it");
    assert_eq!(session.request_texts_when_done().await, ["/name it"]);
}

#[tokio::test]
async fn handlers_learn_that_an_extension_chose_a_model() {
    let source = "export default (pi) => {
        pi.on('thinking_level_select', ({ level, previousLevel }, ctx) => ctx.ui.notify(`${previousLevel} ${level}`));
        pi.registerCommand('think', { handler: () => pi.setThinkingLevel('high') }); };";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/think").await;
    let message = session.notified().await;
    assert!(message.ends_with(" high"), "{message}");
}

#[tokio::test]
async fn a_command_loads_the_extensions_again() {
    let source = "export default (pi) => {
        pi.on('session_start', (event, ctx) => ctx.ui.notify(event.reason));
        pi.registerCommand('again', { handler: (_, ctx) => ctx.reload() }); };";
    let mut session = TestSession::new(&[source], []).await;
    assert_eq!(session.notified().await, "startup");
    session.send("/again").await;
    assert_eq!(session.notified().await, "reload");
}
