//! Events that extensions observe.

use osier_model::scripted::ScriptedTurn;

use super::TestSession;

#[tokio::test]
async fn a_turn_is_observed_in_order() {
    let recorder = r#"export default (pi) => {
        const seen = [];
        for (const name of ["agent_start", "turn_start", "turn_end", "agent_end"]) pi.on(name, () => { seen.push(name); });
        pi.on("agent_end", (event, ctx) => ctx.ui.notify(`${seen.join(" ")}; ${event.messages.map((m) => m.role).join(" ")}`));
    };"#;
    let mut session = TestSession::new(&[recorder], [ScriptedTurn::reply("yes")]).await;
    session.send("hello").await;
    assert_eq!(session.notified().await, "agent_start turn_start turn_end agent_end; user assistant");
}

#[tokio::test]
async fn messages_and_the_end_of_all_work_are_observed() {
    let recorder = r#"export default (pi) => {
        const seen = [];
        pi.on("message_start", (event) => { seen.push(`+${event.message.role}`); });
        pi.on("message_end", (event) => { seen.push(`-${event.message.role}`); });
        pi.on("agent_settled", (event, ctx) => ctx.ui.notify(`${seen.join(" ")}; ${event.aborted}`));
    };"#;
    let mut session = TestSession::new(&[recorder], [ScriptedTurn::reply("yes")]).await;
    session.send("hello").await;
    assert_eq!(session.notified().await, "+user -user +assistant -assistant; false");
}

#[tokio::test]
async fn the_start_of_a_session_is_observed() {
    let recorder = r#"export default (pi) => pi.on("session_start", (event, ctx) => {
        ctx.ui.notify(`${event.type} ${event.reason} ${ctx.sessionManager.getEntries().length} ${ctx.isIdle()}`);
    });"#;
    let mut session = TestSession::new(&[recorder], []).await;
    assert_eq!(session.notified().await, "session_start startup 0 true");
}
