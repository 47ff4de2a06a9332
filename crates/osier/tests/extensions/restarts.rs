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

/// Asks for a tool call that writes a file.
fn ask_for_a_file(program: &mut RpcProgram) -> String {
    program.send(json!({ "type": "prompt", "message": "run touch made" }));
    let ended = program.until(|line| line["type"] == "tool_execution_end");
    ended["result"].to_string()
}

#[test]
fn an_extension_that_hangs_is_stopped_and_others_of_its_process_go_on() {
    let folder = ExtensionFolder::new();
    // A loop in a function of the engine cannot be interrupted.
    let hanging = "export default (pi) => pi.registerCommand('hang', { handler: () => { /(a*)*b/.test('a'.repeat(40)); for (;;) {} } });\n";
    let guard = "export default (pi) => {
        pi.on('tool_call', () => ({ block: true, reason: 'guarded' }));
        pi.on('session_start', (event, ctx) => ctx.ui.notify(`guard ${event.reason}`));
    };\n";
    folder.write("a.ts", hanging);
    folder.write("b.ts", guard);
    let (first, second) = (folder.path("a.ts"), folder.path("b.ts"));
    let mut program = folder.rpc_found(&[
        "-e",
        first.to_str().unwrap(),
        "-e",
        second.to_str().unwrap(),
        "--approval",
        "yolo",
    ]);
    program.until(is_notice("guard startup"));
    assert!(ask_for_a_file(&mut program).contains("guarded"));
    program.send(json!({ "type": "prompt", "message": "/hang" }));
    let failed = program.until(|line| line["type"] == "extension_error");
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("did not end") || error.contains("interrupted"), "{failed}");
    assert!(
        ask_for_a_file(&mut program).contains("guarded"),
        "the guard is there, whatever happened to its process"
    );
    program.finish();
}

#[test]
fn extensions_of_different_grants_and_origins_have_processes_of_their_own() {
    let folder = ExtensionFolder::new();
    let crasher = CRASHER
        .replace("export default", "import { existsSync } from 'node:fs'; existsSync('x'); export default");
    let other = "export default (pi) => pi.on('session_start', (event, ctx) => ctx.ui.notify(`other ${event.reason}`));\n";
    folder.write("a.ts", &crasher);
    folder.write("b.ts", other);
    let (first, second) = (folder.path("a.ts"), folder.path("b.ts"));
    let mut program = folder.rpc_found(&["-e", first.to_str().unwrap(), "-e", second.to_str().unwrap()]);
    program.until(is_notice("other startup"));
    crash(&mut program);
    let shown = program.until(|line| {
        line["method"] == "notify" && line["message"].as_str().is_some_and(|text| text.ends_with("reload"))
    });
    assert_eq!(shown["message"], "started reload", "the other one was not started again");
    program.send(json!({ "id": "1", "type": "get_state" }));
    let until_state = program.until(|line| line["id"] == "1" || line["message"] == "other reload");
    assert_eq!(until_state["id"], "1");
    program.finish();
}
