//! What extensions read and write in their session.

use osier_model::scripted::ScriptedTurn;
use serde_json::json;

use super::TestSession;

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
