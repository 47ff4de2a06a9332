//! Extensions that need Node, in a real `node` process. Where `OSIER_NO_NODE` is set, these tests are not run.

use std::time::Duration;

use osier_model::scripted::ScriptedTurn;
use osier_protocol::{Client, ClientCommand, CommandReply};

use super::TestSession;

/// Code that only Node can run. An import that is not used would be a type.
const IMPORT: &str = "import http from 'node:http'; export const used = http;\n";

/// A session with an extension that runs in Node, unless the tests shall do without Node.
async fn in_node(source: &str) -> Option<TestSession> {
    in_node_with(source, []).await
}

/// Like `in_node`, with replies of the model.
async fn in_node_with(source: &str, turns: impl IntoIterator<Item = ScriptedTurn>) -> Option<TestSession> {
    if std::env::var_os("OSIER_NO_NODE").is_some() {
        eprintln!("NOT RUN: OSIER_NO_NODE is set");
        return None;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = std::env::split_paths(&path).any(|folder| folder.join("node").is_file());
    assert!(is_installed, "install Node 20.6 or later, or set OSIER_NO_NODE=1");
    Some(TestSession::new(&[&format!("{IMPORT}{source}")], turns).await)
}

#[tokio::test]
async fn an_extension_with_a_module_of_node_runs_in_node() {
    let source = "import { Text, visibleWidth } from '@earendil-works/pi-tui';
        import { Type } from '@sinclair/typebox';
        enum Color { Red = 'red' }
        export default (pi: any) => pi.registerCommand('where', { handler: async (args: string, ctx: any) => {
            const parts = [typeof http.request, Color.Red, visibleWidth('日本'), Type.String().type,
                new Text('a b', 0, 0).render(10).length, ctx.sessionManager.getEntries().length >= 0, args];
            ctx.ui.notify(parts.join(' '));
        } });";
    let Some(mut session) = in_node(source).await else { return };
    assert_eq!(session.send("/where x").await, CommandReply::Handled);
    assert_eq!(session.notified().await, "function red 4 string 1 true x");
}

#[tokio::test]
async fn an_error_in_node_names_the_line_of_the_source() {
    let source = "interface A {\n  x: string;\n}\n\nexport default (pi: any) => pi.registerCommand('fail', {\n  handler() { throw new Error('no'); },\n});";
    let Some(mut session) = in_node(source).await else { return };
    session.send("/fail").await;
    let (event, error, stack) = session.failed_at().await;
    assert_eq!((event.as_str(), error.as_str()), ("command", "no"));
    assert!(stack[0].contains("extension0.ts:7:"), "{stack:?}");
}

#[tokio::test]
async fn output_of_an_extension_in_node_is_its_log() {
    let source = "export default (pi: any) => pi.registerCommand('say', { handler: (_: string, ctx: any) => {
            console.log('one %d', 1); process.stdout.write('two\\n'); ctx.ui.notify('done');
        } });";
    let Some(mut session) = in_node(source).await else { return };
    let notice = session.logged().await;
    assert!(
        notice.contains("runs in Node with your rights, not confined (")
            && notice.contains("import of node:http"),
        "{notice}"
    );
    session.send("/say").await;
    assert_eq!(session.logged().await, "one 1");
    assert_eq!(session.logged().await, "two");
    assert_eq!(session.notified().await, "done");
}

#[tokio::test]
async fn an_extension_in_node_starts_osier_and_not_node() {
    let source =
        "export default (pi: any) => pi.registerCommand('self', { handler: (_: string, ctx: any) => {
            ctx.ui.notify(`${process.execPath} ${process.argv[1]} ${process.cwd()}`);
        } });";
    let Some(mut session) = in_node(source).await else { return };
    session.send("/self").await;
    let folder = session.folder().canonicalize().unwrap();
    assert_eq!(session.notified().await, format!("osier osier {}", folder.display()));
}

#[tokio::test]
async fn a_node_process_that_ends_is_started_again() {
    let source = "export default (pi: any) => {
            pi.on('session_start', (event: any, ctx: any) => ctx.ui.notify(event.reason));
            pi.registerCommand('die', { handler: () => process.kill(process.pid, 'SIGKILL') });
        };";
    let Some(mut session) = in_node(source).await else { return };
    assert_eq!(session.notified().await, "startup");
    session.send("/die").await;
    let (event, error) = session.failed().await;
    assert!(event == "process" && error.ends_with("the extension is started again"), "{event}: {error}");
    assert_eq!(session.notified().await, "reload");
}

#[tokio::test]
async fn packages_and_files_without_extension_are_found_by_node() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("package.json", r#"{ "pi": { "engine": "node" } }"#);
    write("node_modules/old/package.json", r#"{ "main": "main.js" }"#);
    let common = "const { Type } = require('@sinclair/typebox'); exports.kind = Type.Number().type;";
    write("node_modules/old/main.js", common);
    write("lib/data.json", r#"{ "value": 7 }"#);
    write("lib/part.ts", "import data from './data.json'; export const value: number = data.value;");
    write(
        "x.ts",
        "import { kind } from 'old'; import { value } from './lib/part';
         export default (pi: any) => pi.registerCommand('go', { handler: (_: string, ctx: any) => ctx.ui.notify(`${kind} ${value}`) });",
    );
    if in_node("export default () => {};").await.is_none() {
        return;
    }
    let mut session = TestSession::with_files(&[folder.path().join("x.ts")], []).await;
    session.send("/go").await;
    assert_eq!(session.notified().await, "number 7");
}

#[tokio::test]
async fn a_frame_that_cannot_be_handled_does_not_block_others() {
    let source = "export default (pi: any) => pi.registerCommand('go', { handler: (_: string, ctx: any) => ctx.ui.notify('on') });";
    let Some(mut session) = in_node(source).await else { return };
    let process = session.extensions().all()[0].process.clone();
    assert!(process.ask("confine", crate::frame::to_raw(&serde_json::json!({}))).await.is_err());
    session.send("/go").await;
    assert_eq!(session.notified().await, "on");
}

#[tokio::test]
async fn programs_of_an_extension_in_node_end_with_it() {
    let source = "import { spawn } from 'node:child_process';
        export default (pi: any) => pi.registerCommand('go', { handler: (_: string, ctx: any) => {
            ctx.ui.notify(String(spawn('sleep', ['1000'], { stdio: 'ignore' }).pid)); } });";
    let Some(mut session) = in_node(source).await else { return };
    session.send("/go").await;
    let pid = session.notified().await;
    let is_running = || {
        let state = std::process::Command::new("ps").args(["-o", "stat=", "-p", &pid]).output().unwrap();
        let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
        !state.is_empty() && !state.starts_with('Z')
    };
    assert!(is_running());
    session.extensions().close();
    while is_running() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn half_of_a_surrogate_pair_does_not_end_node() {
    let source = "export default (pi: any) => { const half = '😀'.slice(0, 1);
        pi.registerCommand('fail', { handler: async () => { throw new Error(`no ${half}`); } });
        pi.registerCommand('show', { handler: (_: string, ctx: any) => { console.log(`log ${half}`); ctx.ui.notify(`shown ${half} \\\\ud83d`); } }); };";
    let Some(mut session) = in_node(source).await else { return };
    session.logged().await;
    session.send("/fail").await;
    assert_eq!(session.failed().await, ("command".to_owned(), "no \u{fffd}".to_owned()));
    session.send("/show").await;
    assert_eq!(session.logged().await, "log \u{fffd}");
    assert_eq!(session.notified().await, "shown \u{fffd} \\ud83d");
}

/// Short times for what does not answer, so that the test need not wait for long.
fn shorten_times(session: &TestSession) {
    let extensions = session.extensions();
    let mut limits = extensions.all()[0].time_limits.lock().unwrap();
    limits.grace = Duration::from_millis(50);
    limits.liveness = Duration::from_millis(50);
    limits.canceled = Duration::from_millis(50);
}

#[tokio::test]
async fn code_in_node_may_wait_for_a_program() {
    let source = "import { spawnSync } from 'node:child_process';
        export default (pi: any) => pi.registerCommand('wait', { handler: (_: string, ctx: any) => {
            ctx.ui.notify('waits');
            ctx.ui.notify(`ended with ${spawnSync('sh', ['-c', 'while [ ! -e go ]; do sleep 0.05; done'], { cwd: ctx.cwd }).status}`); } });";
    let Some(mut session) = in_node(source).await else { return };
    shorten_times(&session);
    let client = session.client.clone();
    let running = tokio::spawn(async move { client.send(ClientCommand::prompt("/wait")).await });
    assert_eq!(session.notified().await, "waits");
    let extensions = session.extensions();
    // It was asked several times whether it is stuck.
    while !extensions.all()[0].is_silent() {
        tokio::task::yield_now().await;
    }
    std::fs::write(session.folder().join("go"), "").unwrap();
    assert_eq!(session.notified().await, "ended with 0");
    running.await.unwrap().unwrap();
    assert_eq!(extensions.all()[0].kills(), 0);
}

#[tokio::test]
async fn a_loop_in_node_ends_with_its_cancellation_or_after_a_long_time() {
    let source = "export default (pi: any) => pi.registerTool({ name: 'own', description: 'd', parameters: { type: 'object' },
        execute: async (_id: string, _params: any, _signal: any, _update: any, ctx: any) => { ctx.ui.notify('loops'); for (;;) {} } });";
    for is_canceled in [true, false] {
        let call = ScriptedTurn::new().call("call-1", "own", &serde_json::json!({}));
        let turns = [call, ScriptedTurn::reply("done")];
        let Some(mut session) = in_node_with(source, turns).await else { return };
        shorten_times(&session);
        session.send("go").await;
        assert_eq!(session.notified().await, "loops");
        let extensions = session.extensions();
        match is_canceled {
            true => drop(session.client_send(ClientCommand::Cancel).await),
            false => extensions.all()[0].time_limits.lock().unwrap().node_silence = Duration::ZERO,
        }
        let (event, error, stack) =
            tokio::time::timeout(Duration::from_secs(60), session.failed_at()).await.unwrap();
        assert!(event == "process" && error.starts_with("its code did not end"), "{event}: {error}");
        // Nobody waits for a call that was canceled.
        assert!(is_canceled || stack[0].contains("extension0.ts:2:"), "{stack:?}");
        assert_eq!(extensions.all()[0].kills(), 1);
    }
}

#[tokio::test]
async fn a_handler_in_node_that_never_answers_is_reported_and_one_frame_can_be_too_large() {
    let source = "export default (pi: any) => {
        pi.on('agent_start', () => new Promise(() => {}));
        pi.registerCommand('big', { handler: (_: string, ctx: any) => ctx.ui.notify('x'.repeat(70 * 2 ** 20)) }); };";
    let Some(mut session) = in_node(source).await else { return };
    session.extensions().all()[0].time_limits.lock().unwrap().notification = Duration::from_millis(50);
    session.send("hello").await;
    let (event, error, stack) = session.failed_at().await;
    assert!(event == "agent_start" && error.starts_with("no answer within"), "{event}: {error}");
    assert!(stack[0].contains("extension0.ts:3:"), "{stack:?}");
    session.send("/big").await;
    let (event, error, stack) = session.failed_at().await;
    assert!(event == "process" && error.contains("a frame is longer than"), "{event}: {error}");
    assert!(stack[0].contains("extension0.ts:4:"), "{stack:?}");
}
