//! A process of extensions that ends is started again, and an extension that ends it three times stays off.

use serde_json::{Value, json};

use crate::support::{ExtensionFolder, RpcProgram};

/// `/crash` sends a message that is too large, which ends the process.
const CRASHER: &str = "export default (pi) => {
    pi.on('session_start', (event, ctx) => ctx.ui.notify(`started ${event.reason}`));
    pi.registerCommand('crash', { handler: (_, ctx) => ctx.ui.notify('x'.repeat(70 * 2 ** 20)) });
};\n";

fn crash(program: &mut RpcProgram) -> String {
    program.send(json!({ "type": "prompt", "message": "/crash" }));
    let failed = program.until(|line| line["type"] == "extension_error" && line["event"] == "process");
    failed["error"].as_str().unwrap().to_owned()
}

fn is_notice(text: &'static str) -> impl Fn(&Value) -> bool {
    move |line| line["method"] == "notify" && line["message"] == text
}

#[test]
fn an_extension_that_ends_its_process_three_times_stays_off() {
    let mut program = ExtensionFolder::with(CRASHER).rpc(&[]);
    program.until(is_notice("started startup"));
    for _ in 0..2 {
        let error = crash(&mut program);
        assert!(error.contains("a frame is longer than") && error.ends_with("is started again"), "{error}");
        program.until(is_notice("started reload"));
    }
    let error = crash(&mut program);
    assert!(error.contains("the extension is off in this session"), "{error}");
    program.send(json!({ "id": "1", "type": "get_commands" }));
    let commands = program.until(|line| line["id"] == "1");
    assert!(!commands.to_string().contains("crash"), "{commands}");
    program.finish();
}
