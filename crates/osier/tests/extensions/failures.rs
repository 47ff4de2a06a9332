//! Extensions that fail are reported by file, event and line, and the agent goes on.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::ExtensionFolder;

#[test]
fn an_error_names_the_line_of_the_source() {
    let folder = ExtensionFolder::with(
        "interface Unused {\n\tx: string;\n}\n\nexport default function (pi: any) {\n\
         \tpi.on(\"session_start\", () => {\n\t\tthrow new Error(\"broken on purpose\");\n\t});\n}\n",
    );
    let lines = folder.json(&["hello"]);
    let failed = lines.iter().find(|line| line["method"] == "error").unwrap();
    assert_eq!((&failed["event"], &failed["error"]), (&json!("session_start"), &json!("broken on purpose")));
    let place = failed["stack"][0].as_str().unwrap();
    assert!(place.contains("x.ts:7:"), "{place}");
    assert!(lines.iter().any(|line| line["type"] == "turn_ended"), "the agent goes on");
    let printed = folder.run(&["-p", "hello"]);
    assert!(printed.err.contains("Extension error (") && printed.err.contains("x.ts:7:"), "{printed:?}");
    assert_eq!(printed.code, 0);
}

#[test]
fn a_failing_tool_call_handler_blocks_the_call() {
    let folder = ExtensionFolder::with(
        "export default (pi) => pi.on(\"tool_call\", () => { throw new Error(\"not today\"); });\n",
    );
    let lines = folder.json(&["--approval", "yolo", "run touch made"]);
    let text = serde_json::to_string(&lines).unwrap();
    assert!(text.contains("not today"), "{text}");
    assert!(!folder.path("code/made").exists());
}

#[test]
fn an_extension_sees_no_variables_and_no_files_outside_its_folder() {
    let folder = ExtensionFolder::with(
        r#"
        export default async function (pi) {
            const failed = await import("/etc/hostname").then(() => "read", (error) => error.message);
            pi.on("session_start", (_event, ctx) => {
                ctx.ui.notify(`${typeof process} ${failed}`);
            });
        }
        "#,
    );
    let lines = folder.json(&["hello"]);
    let shown = lines.iter().find(|line| line["method"] == "notify").unwrap();
    let text = shown["message"].as_str().unwrap();
    assert!(text.contains("outside the folder of the extension"), "{text}");
    assert!(!serde_json::to_string(&lines).unwrap().contains("sk-not-for-extensions"));
}

#[test]
fn a_missing_file_is_a_usage_error() {
    let finished = ExtensionFolder::new().run(&["-p", "hello"]);
    assert_eq!(finished.code, 2, "{finished:?}");
    assert!(finished.err.contains("no extension there"), "{finished:?}");
}

#[test]
fn an_extension_that_cannot_be_loaded_ends_the_program() {
    let folder = ExtensionFolder::with("export default function () {\n\tthrow new Error(\"no start\");\n}\n");
    for mode in [&["-p", "hello"][..], &["--mode", "rpc"]] {
        let finished = folder.run(mode);
        assert_eq!((finished.code, finished.out.as_str()), (1, ""), "{finished:?}");
        let message = "Failed to load extension: no start (";
        assert!(finished.err.contains(message) && finished.err.contains("x.ts:2:"), "{finished:?}");
    }
}

#[test]
fn an_endless_loop_is_stopped_and_the_agent_goes_on() {
    let folder = ExtensionFolder::with(
        "export default (pi) => {\n\
         \tpi.on(\"session_start\", () => {\n\t\tfor (;;) {}\n\t});\n\
         \tpi.on(\"agent_end\", (_event, ctx) => ctx.ui.notify(\"still here\"));\n};\n",
    );
    let lines = folder.json(&["hello"]);
    let failed = lines.iter().find(|line| line["event"] == "session_start").unwrap();
    assert_eq!(failed["error"], "no answer within 5 s");
    // It names the line that registered the handler.
    let place = failed["stack"][0].as_str().unwrap();
    assert!(place.contains("x.ts:2:"), "{place}");
    assert!(lines.iter().any(|line| line["message"] == "still here"), "the extension goes on: {lines:?}");
    assert!(lines.iter().any(|line| line["type"] == "turn_ended"), "the agent goes on");
}

#[test]
fn an_endless_loop_in_node_ends_when_osier_is_killed() {
    let folder = ExtensionFolder::with(
        "import 'node:http'; import { writeFileSync } from 'node:fs';
         export default (pi) => pi.registerCommand('hang', { handler: () => { writeFileSync('node.pid', String(process.pid)); for (;;); } });",
    );
    let pid_file = folder.path("code/node.pid");
    let mut program = folder.rpc(&[]);
    program.send(json!({ "type": "prompt", "message": "/hang" }));
    wait_until("the loop runs", || std::fs::read_to_string(&pid_file).is_ok_and(|pid| !pid.is_empty()));
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    program.kill();
    wait_until("Node has ended", || !is_running(&pid));
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "not in a minute: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_running(pid: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

#[test]
fn a_promise_that_never_settles_is_reported_by_the_line_of_its_handler() {
    let folder = ExtensionFolder::with(
        "export default (pi) => {\n\n\n\tpi.on(\"session_start\", () => new Promise(() => {}));\n};\n",
    );
    let lines = folder.json(&["hello"]);
    let failed = lines.iter().find(|line| line["method"] == "error").unwrap();
    assert_eq!(
        (&failed["event"], &failed["error"]),
        (&json!("session_start"), &json!("no answer within 5 s"))
    );
    let place = failed["stack"][0].as_str().unwrap();
    assert!(place.contains("x.ts:4:"), "{place}");
}
