//! What extensions add to the command line: flags and models.

use serde_json::{Value, json};

use crate::support::ExtensionFolder;

const FLAGS: &str = "export default (pi) => {
    pi.registerFlag('plan', { type: 'boolean', default: false, description: 'Plan first' });
    pi.registerFlag('host', { type: 'string', default: 'none' });
    pi.on('session_start', (_event, ctx) => ctx.ui.notify(`${pi.getFlag('plan')} ${pi.getFlag('host')} ${pi.getFlag('other')}`));
};\n";

fn notified(lines: &[Value]) -> &str {
    let notice = lines.iter().find(|line| line["method"] == "notify");
    notice.and_then(|line| line["message"].as_str()).unwrap_or_default()
}

fn prompt(lines: &[Value]) -> String {
    serde_json::to_string(lines).unwrap()
}

#[test]
fn flags_get_their_values_from_the_command_line() {
    let folder = ExtensionFolder::with(FLAGS);
    assert_eq!(notified(&folder.json(&["hello"])), "false none undefined");
    assert_eq!(notified(&folder.json(&["--plan", "hello"])), "true none undefined");
    let lines = folder.json(&["--plan", "hello", "--host", "far", "there"]);
    assert_eq!(notified(&lines), "true far undefined");
    assert!(prompt(&lines).contains("hello there"), "{lines:?}");
    assert_eq!(notified(&folder.json(&["--host=near", "--plan=false", "hello"])), "false near undefined");
}

#[test]
fn an_option_that_no_extension_has_is_an_error_with_a_suggestion() {
    let folder = ExtensionFolder::with(FLAGS);
    let failed = folder.run(&["-p", "--modle", "x", "hello"]);
    assert_eq!(failed.code, 2, "{failed:?}");
    assert!(failed.err.contains("--modle") && failed.err.contains("--model"), "{failed:?}");
}

#[test]
fn the_model_of_an_extension_can_be_named_on_the_command_line() {
    let folder = ExtensionFolder::with(
        "export default (pi) => pi.registerProvider('mine', {
            baseUrl: 'http://nowhere', api: 'mine', models: [{ id: 'parrot' }],
            streamSimple(model, context) {
                const said = context.messages.at(-1).content[0].text;
                const message = { role: 'assistant', content: [{ type: 'text', text: `parrot: ${said}` }], provider: 'mine',
                    model: 'parrot', usage: { input: 1, output: 1 }, stopReason: 'stop', timestamp: 1 };
                return (async function* () { yield { type: 'done', reason: 'stop', message }; })();
            } });\n",
    );
    let answered = folder.run(&["--model", "mine/parrot", "-p", "hello"]);
    assert_eq!((answered.code, answered.out.trim()), (0, "parrot: hello"), "{answered:?}");
    let unknown = folder.run(&["--model", "mine/none", "-p", "hello"]);
    assert!(unknown.code != 0 && unknown.err.contains("unknown model mine/none"), "{unknown:?}");
}

#[test]
fn a_command_opens_a_new_session_over_rpc() {
    let folder = ExtensionFolder::with(
        "export default (pi) => pi.registerCommand('fresh', { handler: async (_, ctx) => {
            const before = ctx.sessionManager.getSessionId();
            const result = await ctx.newSession({ withSession: (fresh) => {
                fresh.ui.notify(`new ${fresh.sessionManager.getSessionId() !== before}`);
            } });
        } });\n",
    );
    let mut program = folder.rpc(&[]);
    program.send(json!({ "id": "1", "type": "get_state" }));
    let state = program.until(|line| line["command"] == "get_state");
    program.send(json!({ "id": "2", "type": "prompt", "message": "/fresh" }));
    let notice = program.until(|line| line["method"] == "notify");
    assert_eq!(notice["message"], "new true");
    program.send(json!({ "id": "3", "type": "get_state" }));
    let now = program.until(|line| line["id"] == "3");
    assert_ne!(now["data"]["sessionId"], state["data"]["sessionId"]);
    program.finish();
}
