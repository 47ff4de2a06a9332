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
