//! Events that extensions observe.

use osier_model::scripted::ScriptedTurn;

use serde_json::json;

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

const TOOL: &str = "import { Type } from 'typebox';
    export default (pi) => pi.registerTool({ name: 'mine', label: 'm', description: 'd', parameters: Type.Object({}),
        execute: async (id, params, signal, onUpdate) => {
            onUpdate({ content: [{ type: 'text', text: 'half' }] });
            return { content: [{ type: 'text', text: 'whole' }], details: { n: 1 } };
        } });";

#[tokio::test]
async fn the_events_of_a_call_come_in_order_also_for_late_handlers() {
    let recorder = r#"export default (pi) => {
        const seen = [];
        const text = (result) => result?.content?.[0]?.text;
        pi.registerCommand('watch', { handler: (_, ctx) => {
            for (const name of ['agent_start', 'turn_end', 'agent_end', 'agent_settled']) pi.on(name, () => { seen.push(name); });
            pi.on('tool_execution_start', ({ toolCallId, toolName, args }) => { seen.push(`start ${toolCallId} ${toolName} ${args.n}`); });
            pi.on('tool_call', ({ input }) => { seen.push('call'); input.n = 2; });
            pi.on('tool_execution_update', ({ partialResult }) => { seen.push(`update ${text(partialResult)}`); });
            pi.on('tool_result', () => { seen.push('result'); });
            pi.on('tool_execution_end', ({ args, result, isError, durationMs }) => { seen.push(`end ${args.n} ${text(result)} ${result.details?.n} ${isError} ${durationMs >= 0}`); });
            pi.on('agent_settled', ({ aborted }, ctx) => ctx.ui.notify(`${seen.join('; ')}; ${aborted} ${ctx.isIdle()}`));
        } });
    };"#;
    let turns = [ScriptedTurn::new().call("c1", "mine", &json!({ "n": 1 })), ScriptedTurn::reply("done")];
    let mut session = TestSession::new(&[TOOL, recorder], turns).await;
    session.send("/watch").await;
    session.send("go").await;
    assert_eq!(
        session.notified().await,
        "agent_start; start c1 mine 1; call; update half; result; end 2 whole 1 false true; turn_end; turn_end; agent_end; \
         agent_settled; false true"
    );
}

#[tokio::test]
async fn a_blocked_call_starts_and_ends_too() {
    let recorder = r#"export default (pi) => {
        const seen = [];
        pi.on('tool_execution_start', () => { seen.push('start'); });
        pi.on('tool_call', () => ({ block: true, reason: 'no' }));
        pi.on('tool_execution_end', ({ isError, durationMs }) => { seen.push(`end ${isError} ${durationMs}`); });
        pi.on('agent_settled', (_, ctx) => ctx.ui.notify(seen.join('; ')));
    };"#;
    let turns = [ScriptedTurn::new().call("c1", "mine", &json!({})), ScriptedTurn::reply("done")];
    let mut session = TestSession::new(&[TOOL, recorder], turns).await;
    session.send("go").await;
    assert_eq!(session.notified().await, "start; end true undefined");
}

#[tokio::test]
async fn what_a_handler_of_the_end_requests_begins_after_all_handlers() {
    let first = r#"export default (pi) => {
        let sent = false;
        pi.on('agent_settled', () => {
            if (!sent) pi.sendMessage({ customType: 'x', content: 'more', display: true }, { triggerTurn: true });
            sent = true;
        });
    };"#;
    let second = r#"export default (pi) => {
        const seen = [];
        pi.on('agent_settled', async () => { await new Promise((done) => setTimeout(done, 100)); seen.push('settled'); });
        pi.on('agent_start', (_, ctx) => { seen.push('start'); if (seen.length > 2) ctx.ui.notify(seen.join(' ')); });
    };"#;
    let turns = [ScriptedTurn::reply("one"), ScriptedTurn::reply("two")];
    let mut session = TestSession::new(&[first, second], turns).await;
    session.send("go").await;
    assert_eq!(session.notified().await, "start settled start");
}
