//! Gates that ask the user before a session is left.

use serde_json::json;

use crate::support::ExtensionFolder;

const CAREFUL: &str = r#"
export default function (pi) {
	pi.on("session_before_switch", async (_event, ctx) => {
		const leave = await ctx.ui.confirm("Leave?", "Really?");
		return { cancel: !leave };
	});
}
"#;

#[test]
fn a_dialog_is_answered_over_rpc_while_a_session_is_opened() {
    let mut program = ExtensionFolder::with(CAREFUL).rpc(&[]);
    let mut ids = Vec::new();
    for (confirmed, cancelled) in [(false, true), (true, false), (true, false)] {
        program.send(json!({ "id": "new", "type": "new_session" }));
        // What does not answer the dialog waits.
        program.send(json!({ "id": "state", "type": "get_state" }));
        let dialog = program.until(|event| event["method"] == "confirm");
        ids.push(dialog["id"].clone());
        program.send(json!({ "type": "extension_ui_response", "id": dialog["id"], "confirmed": confirmed }));
        let first = program.until(|event| event["type"] == "response");
        assert_eq!(first["data"]["cancelled"], cancelled, "{first}");
        assert_eq!(program.until(|event| event["type"] == "response")["id"], "state");
    }
    // A late answer must not reach the dialog of another session.
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");
    program.finish();
}

#[test]
fn a_client_that_leaves_during_a_dialog_ends_the_program() {
    let mut program = ExtensionFolder::with(CAREFUL).rpc(&[]);
    program.send(json!({ "type": "new_session" }));
    program.until(|event| event["method"] == "confirm");
    program.finish();
}

/// Commands that replace the session, and what the events of it say.
const REPLACING: &str = r#"
export default function (pi) {
	const tell = (event, ctx) => ctx.ui.notify(JSON.stringify(event));
	pi.on("session_fork", tell);
	pi.on("switch", tell);
	pi.on("before_switch", tell);
	pi.registerCommand("fork", {
		handler: async (_args, ctx) => {
			const first = ctx.sessionManager.getEntries().find((entry) => entry.message?.role === "user");
			const { cancelled } = await ctx.fork(first.id, { position: "at", withSession: (next) => next.ui.notify(`forked ${next.sessionManager.getEntries().length > 0}`) });
			if (cancelled) ctx.ui.notify("cancelled");
		},
	});
	pi.registerCommand("open", {
		handler: async (args, ctx) => {
			await ctx.switchSession(args, { withSession: (next) => next.ui.notify(`opened ${next.sessionManager.getSessionFile() === args}`) });
		},
	});
}
"#;

#[test]
fn commands_fork_and_switch_and_the_events_have_their_fields() {
    let mut program = ExtensionFolder::with(REPLACING).rpc(&[]);
    let notified = |program: &mut crate::support::RpcProgram| -> String {
        let shown = program.until(|event| event["method"] == "notify");
        shown["message"].as_str().unwrap().to_owned()
    };
    let state = |program: &mut crate::support::RpcProgram| -> String {
        program.send(json!({ "id": "state", "type": "get_state" }));
        let state = program.until(|event| event["id"] == "state");
        state["data"]["sessionFile"].as_str().unwrap().to_owned()
    };
    program.send(json!({ "type": "prompt", "message": "hello" }));
    program.until(|event| event["type"] == "agent_end");
    let first = state(&mut program);
    program.send(json!({ "type": "prompt", "message": "/fork" }));
    let fork: serde_json::Value = serde_json::from_str(&notified(&mut program)).unwrap();
    assert_eq!((&fork["type"], &fork["previousSessionFile"]), (&json!("session_fork"), &json!(first)));
    let new_file = fork["newSessionFile"].as_str().unwrap().to_owned();
    let mut seen = notified(&mut program);
    while seen != "forked true" {
        seen = notified(&mut program);
    }
    assert_eq!(state(&mut program), new_file);
    program.send(json!({ "type": "prompt", "message": format!("/open {first}") }));
    let before: serde_json::Value = serde_json::from_str(&notified(&mut program)).unwrap();
    let expected = json!({ "type": "session_before_switch", "reason": "resume", "targetSessionFile": first });
    assert_eq!(before, expected);
    let (mut switched, mut opened) = (false, false);
    while !(switched && opened) {
        match notified(&mut program).as_str() {
            "opened true" => opened = true,
            text => {
                let event: serde_json::Value = serde_json::from_str(text).unwrap();
                assert_eq!(event["type"], "session_switch");
                assert_eq!(
                    (&event["reason"], &event["previousSessionFile"]),
                    (&json!("resume"), &json!(new_file))
                );
                switched = true;
            }
        }
    }
    program.finish();
}
