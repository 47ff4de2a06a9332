//! What extensions read and write in their session.

use futures_util::StreamExt;
use osier_agent::Worker;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{Client, ClientCommand, ClientEvent};
use osier_session::CursorId;
use serde_json::json;

use super::{TestSession, agent};

#[tokio::test]
async fn an_agent_beside_the_main_one_does_not_take_over_the_extensions() {
    let extension = "export default (pi) => { \
        pi.on('agent_settled', (_, ctx) => ctx.ui.notify('settled')); \
        pi.registerCommand('done', { handler: (_, ctx) => ctx.ui.notify('done') }); };";
    let turns = [ScriptedTurn::new().text("tried"), ScriptedTurn::new().text("answered")];
    let mut session = TestSession::new(&[extension], turns).await;
    let live = session.client.live().clone();
    let cursor = live.session().new_cursor(live.session().main_cursor().position()).await.unwrap();
    let spec = agent(&session.folder, &session.model);
    let other = session.engine.start_agent(&live, cursor, &spec).await.unwrap();
    let mut events = other.attach(None).await.unwrap().events;
    other.send(ClientCommand::prompt("try")).await.unwrap();
    while !matches!(events.next().await, Some(ClientEvent::TurnEnded { .. })) {}
    let is_main = |worker: Worker| worker.cursor().id() == CursorId::MAIN;
    assert!(session.extensions().worker().is_some_and(is_main), "hooks of the other agent change nothing");
    assert_eq!(session.notified().await, "settled", "handlers hear of the other agent, too");
    session.send("ask").await;
    assert_eq!(session.notified().await, "settled");
    session.send("/done").await;
    assert_eq!(session.notified().await, "done", "each agent is followed once");
}

#[tokio::test]
async fn the_mirror_follows_the_session() {
    let reader = r#"export default (pi) => pi.registerCommand("read", { handler: (_, ctx) => {
        const manager = ctx.sessionManager;
        const roles = manager.getBranch().filter((entry) => entry.type === "message").map((entry) => entry.message.role);
        const leaf = manager.getLeafEntry();
        ctx.ui.notify(`${roles.filter((role) => role !== "system").join(" ")}; ${leaf.id === manager.getLeafId()}; ${manager.getLeafUuid() === leaf.id}; ${manager.getPath().length === manager.getBranch().length}`);
    } });"#;
    let turns = [ScriptedTurn::reply("one"), ScriptedTurn::reply("two")];
    let mut session = TestSession::new(&[reader], turns).await;
    session.turn("hello").await;
    session.send("/read").await;
    assert_eq!(session.notified().await, "user assistant; true; true; true");
    session.turn("again").await;
    session.send("/read").await;
    assert_eq!(session.notified().await, "user assistant user assistant; true; true; true");
}

#[tokio::test]
async fn keys_widths_and_boxes_work_without_a_screen() {
    let extension = r#"
        import { Box, Key, Text, matchesKey, visibleWidth } from "@earendil-works/pi-tui";
        export default (pi) => pi.registerCommand("draw", { handler: (_, ctx) => {
            const box = new Box(1, 0, (line) => `[${line}]`);
            box.addChild(new Text("ab", 0, 0));
            const keys = [matchesKey("\u001b[A", Key.up), matchesKey("\u0003", Key.ctrl("c")), matchesKey("x", Key.ctrl("x"))];
            ctx.ui.notify(`${box.render(6).join("|")} ${keys.join(" ")} ${visibleWidth("\u001b[31m漢\u001b[0m")}`);
        } });"#;
    let mut session = TestSession::new(&[extension], []).await;
    session.send("/draw").await;
    assert_eq!(session.notified().await, "[ ab   ] true true false 2");
}

#[tokio::test]
async fn entries_are_appended_and_named() {
    let writer = r#"export default (pi) => pi.registerCommand("write", { handler: (_, ctx) => {
        const manager = ctx.sessionManager;
        const id = manager.appendCustomMessageEntry("note", "remember", true, { n: 1 });
        manager.appendLabelChange(id, "here");
        pi.setSessionName("plans");
        ctx.ui.notify(`${manager.getEntry(id).content} ${manager.getLabel(id)} ${manager.getSessionName()} ${pi.getSessionName()}`);
    } });"#;
    let mut session = TestSession::new(&[writer], []).await;
    session.send("/write").await;
    assert_eq!(session.notified().await, "remember here plans plans");
    let entries = session.entries().await;
    assert_eq!(entries[0]["details"], json!({ "n": 1 }));
}

#[tokio::test]
async fn an_extension_has_sessions_in_memory() {
    let source = "import { SessionManager } from '@earendil-works/pi-coding-agent';
        export default (pi) => pi.registerCommand('try', { handler: (_, ctx) => {
            const own = SessionManager.inMemory();
            const first = own.appendMessage({ role: 'user', content: 'a' });
            own.appendCustomEntry('x');
            own.branch(first);
            own.appendMessage({ role: 'assistant', content: [] });
            ctx.ui.notify([own.getEntries().length, own.getBranch().length, own.getTree()[0].children.length, ctx.sessionManager.getEntries().length].join(' '));
        } });";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/try").await;
    assert_eq!(session.notified().await, "3 2 2 0");
}

#[tokio::test]
async fn the_context_of_the_session_is_what_the_model_gets() {
    let source = "export default (pi) => {
        let tools;
        pi.on('before_agent_start', (event) => { tools = event.systemPromptOptions.selectedTools.length > 0; });
        pi.registerCommand('show', { handler: (_, ctx) => {
            const { messages, model } = ctx.sessionManager.buildSessionContext();
            ctx.ui.notify(`${messages.map((message) => message.role).join(' ')} ${typeof model.modelId} ${tools}`);
        } }); };";
    let mut session = TestSession::new(&[source], [ScriptedTurn::reply("yes")]).await;
    session.turn("hello").await;
    session.send("/show").await;
    assert_eq!(session.notified().await, "user assistant string true");
}

#[tokio::test]
async fn an_extension_keeps_sessions_of_its_own_in_files() {
    let source = "import { SessionManager } from '@earendil-works/pi-coding-agent';
        export default (pi) => pi.registerCommand('keep', { handler: async (_, ctx) => {
            const made = SessionManager.create('/a');
            const first = made.appendMessage({ role: 'user', content: [{ type: 'text', text: 'one' }] });
            made.appendSessionInfo('willow');
            made.appendLabelChange(first, 'start');
            const again = SessionManager.open(made.getSessionFile());
            again.branch(first);
            again.appendMessage({ role: 'user', content: 'two' });
            const fork = SessionManager.forkFrom(made.getSessionFile(), '/b');
            const names = (await SessionManager.list('/a')).map(({ name, cwd, messageCount }) => [name, cwd, messageCount].join()).sort();
            ctx.ui.notify(JSON.stringify([again.getLabel(first), again.getSessionName(), again.getChildren(first).length, fork.getBranch().length, fork.getHeader().parentSession === made.getSessionFile(), names]));
        } });";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/keep").await;
    let expected = r#"["start","willow",2,2,true,[",/b,2","willow,/a,2"]]"#;
    assert_eq!(session.notified().await, expected);
    assert_eq!(std::fs::read_dir(session.folder().join("data/sessions")).unwrap().count(), 2);
}

#[tokio::test]
async fn a_long_session_is_read_in_parts() {
    let source = "export default (pi) => pi.registerCommand('go', { handler: (_, ctx) => {
        for (const name of ['a', 'b', 'c']) pi.appendEntry(name, 'x'.repeat(2 * 2 ** 20));
        ctx.ui.notify(ctx.sessionManager.getEntries().map((entry) => `${entry.customType} ${entry.data.length}`).join());
    } });";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/go").await;
    let size = 2 << 20;
    assert_eq!(session.notified().await, format!("a {size},b {size},c {size}"));
    let news = super::super::session_calls::news_of(session.client.live().session()).await;
    assert_eq!(
        (news["entries"].as_array().unwrap().len(), &news["isComplete"]),
        (1, &serde_json::json!(false))
    );
}

#[tokio::test]
async fn the_session_is_written_like_that_of_pi() {
    let source = "export default (pi) => pi.registerCommand('write', { handler: (_, ctx) => {
        const manager = ctx.sessionManager;
        const user = (content) => manager.appendMessage({ role: 'user', content, timestamp: 1 });
        const first = user('one');
        const second = user('two');
        manager.appendCompaction('the first part', second, 100, { n: 1 });
        manager.appendContextEdit(second, { content: 'three' });
        const { messages } = manager.buildSessionProjection();
        manager.resetLeaf();
        const before = manager.getLeafId();
        const again = user('anew');
        ctx.ui.notify(JSON.stringify([messages.map(({ summary, content }) => summary ?? content), before, manager.getEntry(again).parentId, manager.getEntry(first).parentId]));
    } });";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/write").await;
    assert_eq!(session.notified().await, r#"[["the first part","three"],null,null,null]"#);
}
