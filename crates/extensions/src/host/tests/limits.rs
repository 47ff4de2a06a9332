//! Limits of time and memory, also while a dialog is open.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use osier_protocol::UserAnswer;

use super::*;

/// Long enough for a loaded machine. Without a limit, a test of something that never ends would not end either.
const LONG: Duration = Duration::from_secs(120);

async fn in_time<T>(run: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, run).await.expect("it ends")
}

#[tokio::test]
async fn a_dialog_at_the_start_waits_for_the_first_client() {
    let source = "export default (pi) => pi.on('session_start', async (_, ctx) => {
        ctx.ui.notify('answered ' + await ctx.ui.confirm('Sure?', ''));
    });";
    let mut session = in_time(TestSession::new(&[source], [])).await;
    let questions = session.client.attach(None).await.unwrap().state.open_questions;
    assert_eq!(questions.len(), 1, "{questions:?}");
    session.client_send(ClientCommand::Answer { question: questions[0].id, answer: UserAnswer::Once }).await;
    assert_eq!(in_time(session.notified()).await, "answered true");
}

#[tokio::test]
async fn an_open_dialog_does_not_keep_a_canceled_turn_from_its_end() {
    let source = "export default (pi) => {
        pi.registerCommand('open', { handler: (_, ctx) => { ctx.ui.select('open', ['a']); } });
        pi.on('agent_start', () => new Promise(() => {}));
    };";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("done")]).await;
    session.extensions().all()[0].time_limits.lock().unwrap().notification = Duration::from_millis(50);
    session.send("/open").await;
    in_time(session.until(|event| matches!(event, ClientEvent::Asked { .. }))).await;
    let client = session.client.clone();
    tokio::spawn(async move { client.send(ClientCommand::prompt("go")).await });
    in_time(session.until(|event| matches!(event, ClientEvent::TurnStarted))).await;
    in_time(session.client_send(ClientCommand::Cancel)).await;
    in_time(session.turn_ended()).await;
}

#[tokio::test]
async fn what_an_extension_keeps_on_the_screen_and_registers_is_limited() {
    let source = "export default (pi) => {
        pi.registerCommand('big', { description: 'x'.repeat(100_000), handler: () => {} });
        pi.registerCommand('show', { handler: (_, ctx) => {
            for (let n = 0; n < 5; n++) ctx.ui.setStatus('key' + n, 'x'.repeat(1_000_000));
        } });
        pi.registerCommand('replace', { handler: (_, ctx) => {
            for (let n = 0; n < 5; n++) ctx.ui.setStatus('key0', 'x'.repeat(900_000 + n));
            ctx.ui.notify('replaced');
        } });
    };";
    let mut session = TestSession::new(&[source], []).await;
    let (_, error) = in_time(session.failed()).await;
    assert!(error.contains("larger than 65536 bytes"), "{error}");
    session.send("/show").await;
    let (_, error) = in_time(session.failed()).await;
    assert!(error.contains("shows too much"), "{error}");
    session.send("/replace").await;
    let shown = session.until(|event| {
        matches!(event, ClientEvent::Extension(ExtensionEvent::Notify { .. } | ExtensionEvent::Failed { .. }))
    });
    let shown = in_time(shown).await;
    assert!(matches!(shown, ClientEvent::Extension(ExtensionEvent::Notify { .. })), "{shown:?}");
}

#[tokio::test]
async fn bytes_of_native_functions_count_as_memory() {
    let source = "import * as fs from 'node:fs'; import { join } from 'node:path'; import { randomBytes } from 'node:crypto';
        import { truncateToWidth } from '@earendil-works/pi-tui';
        const attempt = (run) => { try { return run(); } catch (error) { return 'refused'; } };
        export default (pi) => pi.registerCommand('go', { handler: (_, ctx) => {
            const file = join(ctx.cwd, 'sparse'), kept = [];
            fs.writeFileSync(file, '');
            fs.truncateSync(file, 100 * 2 ** 20);
            ctx.ui.notify([
                attempt(() => { for (let n = 0; n < 3; n++) kept.push(fs.readFileSync(file)); }),
                kept.length < 3,
                attempt(() => randomBytes(2 ** 21).length),
                attempt(() => truncateToWidth('a', 2 ** 24, '', true).length),
            ].join());
        } });";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/go").await;
    assert_eq!(in_time(session.notified()).await, "refused,true,refused,refused");
}

#[tokio::test]
async fn a_process_that_cannot_be_confined_loads_nothing() {
    let source = "export default (pi) => pi.registerCommand('go', { handler: () => {} });";
    let (folder, files) = write_files(&[source]);
    let data = folder.path().join(OsStr::from_bytes(b"data\xff"));
    let mut session = TestSession::start_with_data(folder, &files, [], ExtensionMode::Rpc, data).await;
    let (event, error) = in_time(session.failed()).await;
    assert!(event == "load" && error.contains("cannot be confined"), "{event}: {error}");
    assert!(session.extensions().all()[0].registrations().commands.is_empty());
}
