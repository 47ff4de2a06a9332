//! Processes that end while their extensions are needed: gates wait for the restart, extensions that share the process come back, and
//! only code that was inspected is loaded again.

use osier_model::scripted::ScriptedTurn;
use osier_tools::Toolbox;
use serde_json::json;

use super::*;

/// Loads slowly, and blocks every call.
const GUARD: &str = "export default async (pi) => {
    await new Promise((done) => setTimeout(done, 300));
    pi.on('tool_call', () => ({ block: true, reason: 'guarded' }));
};";

/// `/crash` sends a message that is too large, which ends the process.
const CRASHER: &str = "export default (pi) => pi.registerCommand('crash', { handler: (_, ctx) => ctx.ui.notify('x'.repeat(70 * 2 ** 20)) });";

#[tokio::test]
async fn gates_wait_for_an_extension_that_another_one_ended() {
    let turns = [
        ScriptedTurn::new().call("c1", "write", &json!({ "path": "made", "content": "" })),
        ScriptedTurn::reply("done"),
    ];
    let mut session = TestSession::new(&[GUARD, CRASHER], turns).await;
    let extensions = session.extensions();
    let places: Vec<_> = extensions.all().iter().map(|extension| extension.place()).collect();
    assert_eq!(places, [(0, 0), (0, 1)], "they share a process");
    session.send("/crash").await;
    session.turn("write").await;
    assert_eq!(session.request_texts().last().unwrap(), "guarded");
    assert!(!session.folder().join("made").exists());
}

#[tokio::test]
async fn a_tool_stays_known_while_its_extension_is_loaded_again() {
    let source = "import { Type } from 'typebox';
        export default async (pi) => {
            await new Promise((done) => setTimeout(done, 300));
            pi.registerTool({ name: 'mine', label: 'm', description: 'd', parameters: Type.Object({}), execute: async () => ({ content: [{ type: 'text', text: 'ran' }] }) });
        };";
    let turns = [ScriptedTurn::new().call("c1", "mine", &json!({})), ScriptedTurn::reply("done")];
    let mut session = TestSession::new(&[source, CRASHER], turns).await;
    session.send("/crash").await;
    let slot = session.host.slot(session.client.live().session());
    let tools = super::super::toolbox::ExtendedTools::new(Arc::new(ToolSet::standard()), slot);
    assert!(tools.specs().iter().any(|spec| spec.name == "mine"));
    session.turn("use it").await;
    assert_eq!(session.request_texts().last().unwrap(), "ran");
}

#[tokio::test]
async fn the_rest_of_a_process_is_loaded_once_if_one_extension_ends_it_while_it_loads() {
    let crashing = "console.log('x'.repeat(70 * 2 ** 20)); export default () => {};";
    let good = |name: &str| {
        format!(
            "export default (pi) => {{ pi.on('session_start', (event, ctx) => ctx.ui.notify('{name} ' + event.reason));
                pi.registerCommand('{name}', {{ handler: (_, ctx) => ctx.ui.notify('on') }}); }};"
        )
    };
    let mut session = TestSession::new(&[&good("first"), crashing, &good("last")], []).await;
    for expected in ["first startup", "last startup"] {
        assert_eq!(session.notified().await, expected);
    }
    for command in ["/first", "/last"] {
        session.send(command).await;
        assert_eq!(session.notified().await, "on", "{command}");
    }
}

#[tokio::test]
async fn an_extension_that_ends_its_process_is_off_after_the_third_time_and_says_what_it_guarded() {
    let guard = "export default (pi) => { pi.on('tool_call', () => ({ block: true }));
        pi.registerCommand('crash', { handler: (_, ctx) => ctx.ui.notify('x'.repeat(70 * 2 ** 20)) }); };";
    let mut session = TestSession::new(&[guard], []).await;
    for end in [
        "started again",
        "started again",
        "off in this session. Its checks of tool calls and commands no longer run",
    ] {
        session.send("/crash").await;
        let error = loop {
            let (event, error) = session.failed().await;
            if event == "process" {
                break error;
            }
        };
        assert!(error.ends_with(end), "{error}");
    }
    assert!(matches!(session.send("/crash").await, CommandReply::Started { .. }), "the command is gone");
}

#[tokio::test]
async fn changed_code_is_not_loaded_again() {
    let (folder, files) = write_files(&[CRASHER]);
    let mut session = TestSession::with_files(&files, []).await;
    std::fs::write(
        &files[0],
        "export default (pi) => pi.on('session_start', (_, ctx) => ctx.ui.notify('changed'));",
    )
    .unwrap();
    session.send("/crash").await;
    let error = loop {
        let (event, error) = session.failed().await;
        if event == "load" {
            break error;
        }
    };
    assert!(error.contains("extension0.ts changed after Osier inspected it"), "{error}");
    drop(folder);
}

#[tokio::test]
async fn an_import_at_run_time_loads_only_what_was_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "x.ts",
        "export default (pi) => pi.registerCommand('go', { handler: async (name, ctx) => {
            ctx.ui.notify(await import(name).then((module) => module.default, (error) => error.message)); } });",
    );
    for name in ["a.ts", "b.ts"] {
        write(name, "export default 'as inspected';");
    }
    let mut session = TestSession::with_files(&[folder.path().join("x.ts")], []).await;
    session.send("/go ./a.ts").await;
    assert_eq!(session.notified().await, "as inspected");
    write("b.ts", "export default 'changed';");
    write("c.ts", "export default 'new';");
    for (name, expected) in
        [("./b.ts", "changed after Osier inspected it"), ("./c.ts", "is not part of the code")]
    {
        session.send(&format!("/go {name}")).await;
        let shown = session.notified().await;
        assert!(shown.contains(expected), "{shown}");
    }
}

#[tokio::test]
async fn an_answer_for_an_earlier_run_of_a_process_is_dropped() {
    let source = "export default (pi) => {
        pi.on('session_start', async (event, ctx) => {
            if (event.reason === 'reload') ctx.ui.notify(JSON.stringify(await ctx.ui.input('second')));
        });
        pi.registerCommand('go', { handler: async (_, ctx) => {
            const asked = ctx.ui.input('first');
            await new Promise((done) => setTimeout(done, 50));
            ctx.ui.notify('x'.repeat(70 * 2 ** 20));
            await asked;
        } }); };";
    let mut session = TestSession::new(&[source], []).await;
    let client = session.client.clone();
    let running = tokio::spawn(async move { client.send(ClientCommand::prompt("/go")).await });
    let asked = |title: &'static str| move |event: &ClientEvent| matches!(event, ClientEvent::Asked { question, .. } if format!("{question:?}").contains(title));
    session.until(asked("first")).await;
    let ClientEvent::Asked { id, .. } = session.until(asked("second")).await else { return };
    running.await.unwrap().unwrap();
    let answer = osier_protocol::UserAnswer::Text { text: "mine".to_owned() };
    session.client_send(ClientCommand::Answer { question: id, answer }).await;
    assert_eq!(session.notified().await, "\"mine\"");
}

#[tokio::test]
async fn a_gate_without_an_answer_in_time_blocks_calls_and_lets_everything_else_go_on() {
    let source = "export default (pi) => {
        for (const name of ['input', 'context', 'tool_call', 'tool_result', 'turn_end']) pi.on(name, () => new Promise(() => {}));
    };";
    let turns = [
        ScriptedTurn::new().call("c1", "write", &json!({ "path": "made", "content": "" })),
        ScriptedTurn::reply("done"),
    ];
    let mut session = TestSession::new(&[source], turns).await;
    let short = std::time::Duration::from_millis(50);
    {
        let extensions = session.extensions();
        let mut limits = extensions.all()[0].time_limits.lock().unwrap();
        // A loaded machine must not look like an extension that is stuck.
        (limits.gate, limits.grace) = (short, std::time::Duration::from_secs(60));
    }
    session.turn("write").await;
    assert!(
        session.request_texts().last().unwrap().contains("no answer within"),
        "{:?}",
        session.request_texts()
    );
    assert!(!session.folder().join("made").exists());
    assert!(session.extensions().all()[0].is_running(), "it is slow, not stuck");
}

#[tokio::test]
async fn a_prompt_goes_to_no_other_provider_while_an_extension_is_loaded_again() {
    let source = "import { createAssistantMessageEventStream } from '@earendil-works/pi-ai';
        export default async (pi) => {
            await new Promise((done) => setTimeout(done, 300));
            pi.registerProvider('mine', { baseUrl: 'x', apiKey: 'k', api: 'x', models: [{ id: 'own' }],
                streamSimple: () => createAssistantMessageEventStream() });
        };";
    let session = TestSession::new(&[source, CRASHER], [ScriptedTurn::reply("from another provider")]).await;
    session.client_send(ClientCommand::SetModel { model: "mine/own".to_owned() }).await;
    session.send("/crash").await;
    let worker = session.extensions().worker().unwrap();
    let choice = worker.model_choice().await.unwrap();
    assert_eq!((choice.model.full_name(), choice.unknown_model), ("mine/own".to_owned(), None));
    assert!(session.model.requests().is_empty());
    session.client_send(ClientCommand::Cancel).await;
}

#[tokio::test]
async fn three_kills_turn_off_only_the_extension_that_does_not_end() {
    let other =
        "export default (pi) => pi.registerCommand('other', { handler: (_, ctx) => ctx.ui.notify('on') });";
    let mut session = TestSession::new(&[CRASHER, other], []).await;
    let extensions = session.extensions();
    let never = tokio_util::sync::CancellationToken::new();
    let guilty = &extensions.all()[0];
    for end in ["is started again", "is started again", "off in this session"] {
        extensions.wait_for_restarts(&never).await;
        guilty.process.kill_for(guilty.number, "its code did not end");
        let (event, error) = session.failed().await;
        assert_eq!(event, "process");
        assert!(error.starts_with("its code did not end; ") && error.ends_with(end), "{error}");
    }
    extensions.wait_for_restarts(&never).await;
    assert!(!guilty.is_running() && extensions.all()[1].is_running());
    session.send("/other").await;
    assert_eq!(session.notified().await, "on");
}
