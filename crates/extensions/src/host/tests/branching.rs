//! Branches that extensions make, and sessions that they open.

use osier_protocol::RequestedSession;

use super::*;

#[tokio::test]
async fn an_extension_branches_with_a_summary_and_goes_on_there() {
    let source = "export default (pi) => pi.registerCommand('go', { handler: (_, ctx) => {
        const sm = ctx.sessionManager;
        const [first] = sm.getBranch().filter((entry) => entry.message?.role === 'user');
        const summary = sm.branchWithSummary(first.id, 'It was a dead end.', { from: 'test' });
        const next = sm.appendCustomEntry('next', 1);
        ctx.ui.notify([sm.getEntry(summary).type, sm.getEntry(summary).parentId === first.id, sm.getEntry(next).parentId === summary].join(' '));
        sm.resetLeaf();
        ctx.ui.notify(String(sm.getLeafId()));
    } });";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("yes")]).await;
    session.turn("hello").await;
    session.send("/go").await;
    assert_eq!(session.notified().await, "branch_summary true true");
    assert_eq!(session.notified().await, "null");
}

#[tokio::test]
async fn moves_of_an_extension_ask_the_handlers_of_others() {
    let mover = "export default (pi) => { pi.on('session_before_tree', () => ({ cancel: true }));
        pi.registerCommand('go', { handler: (_, ctx) => {
            try { ctx.sessionManager.resetLeaf(); ctx.ui.notify('moved'); } catch (error) { ctx.ui.notify(error.message); } } }); };";
    let mut session = TestSession::new(&[mover], [ScriptedTurn::reply("yes")]).await;
    session.turn("hello").await;
    session.send("/go").await;
    assert_eq!(session.notified().await, "moved", "its own handler is not asked");
    let guard = "export default (pi) => pi.on('session_before_tree', () => ({ cancel: true }));";
    let mut session = TestSession::new(&[mover, guard], [ScriptedTurn::reply("yes")]).await;
    session.turn("hello").await;
    session.send("/go").await;
    assert!(session.notified().await.contains("refused"));
}

#[tokio::test]
async fn an_extension_copies_a_path_into_a_new_session() {
    let source = "export default (pi) => pi.registerCommand('copy', { handler: (_, ctx) => {
        const file = ctx.sessionManager.createBranchedSession(ctx.sessionManager.getLeafId());
        ctx.ui.notify(file);
    } });";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("yes")]).await;
    session.turn("hello").await;
    session.send("/copy").await;
    let file = session.notified().await;
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("hello") && text.contains("parentSession"), "{text}");
}

#[tokio::test]
async fn an_extension_opens_a_new_session_and_works_there() {
    let source = "export default (pi) => { let old;
        pi.on('session_start', (event, ctx) => { old ??= ctx; });
        pi.registerCommand('fresh', { handler: async (_, ctx) => {
            const before = ctx.sessionManager.getSessionId();
            await ctx.newSession({
                setup: (sm) => { sm.appendCustomEntry('handed', 1); },
                withSession: async (fresh) => {
                    let stale = '';
                    try { old.cwd; } catch (error) { stale = error.message; }
                    const handed = fresh.sessionManager.getEntries().some((entry) => entry.customType === 'handed');
                    fresh.ui.notify([fresh.sessionManager.getSessionId() !== before, handed, /replaced/.test(stale)].join(' '));
                },
            });
        } }); };";
    let mut session = TestSession::new(&[source], []).await;
    let command = {
        let client = session.client.clone();
        tokio::spawn(async move { client.send(ClientCommand::prompt("/fresh")).await })
    };
    let asked = session.until(|event| matches!(event, ClientEvent::SessionRequested { .. })).await;
    assert_eq!(asked, ClientEvent::SessionRequested { session: RequestedSession::New });
    let mut new = session.open_instead().await;
    assert_eq!(new.notified().await, "true true true");
    assert_eq!(command.await.unwrap().unwrap(), CommandReply::Handled);
}
