//! Commands, handlers and notifications in every mode.

use serde_json::json;

use crate::support::ExtensionFolder;

const GREETER: &str = r#"
import { Type, type Static } from "@sinclair/typebox";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { greeting } from "./lib/greeting.js";
import words from "./words.json";

enum Level { Low = "info" }

export default async function (pi: ExtensionAPI) {
	pi.registerCommand("hello", {
		description: "Greets somebody",
		handler: async (args: string, ctx) => {
			ctx.ui.notify(`${greeting(args)} ${words.end} in ${ctx.mode}, ui ${ctx.hasUI}`, Level.Low);
		},
	});
	pi.registerCommand("ask", {
		handler: async (_args, ctx) => {
			const choice = await ctx.ui.select("Which one?", ["first", "second"]);
			const sure = await ctx.ui.confirm("Sure?", "Really?");
			const name = await ctx.ui.input("Name", "nobody");
			ctx.ui.notify(JSON.stringify([choice ?? "none", sure, name ?? "none"]));
		},
	});
	pi.registerCommand("say", { handler: (args: string) => `reply with: ${args}` });
	pi.registerCommand("keep", {
		handler: async (args, ctx) => {
			pi.appendEntry("note", { text: args });
			const entries = ctx.sessionManager.getEntries().filter((entry) => entry.type === "custom");
			ctx.ui.notify(entries.map((entry) => entry.data.text).join(","));
		},
	});
}
"#;

fn greeter() -> ExtensionFolder {
    let folder = ExtensionFolder::with(GREETER);
    folder.write("lib/greeting.ts", "export const greeting = (name: string): string => `hello ${name}`;\n");
    folder.write("words.json", r#"{ "end": "!" }"#);
    folder
}

#[test]
fn a_command_runs_in_json_mode_and_starts_no_turn() {
    let lines = greeter().json(&["/hello you"]);
    let shown: Vec<_> = lines.iter().filter(|line| line["type"] == "extension").collect();
    assert_eq!(shown.len(), 1, "{lines:?}");
    assert_eq!(shown[0]["message"], "hello you ! in json, ui false");
    assert!(!lines.iter().any(|line| line["type"] == "turn_started"), "{lines:?}");
}

#[test]
fn a_command_runs_in_print_mode_and_its_notification_is_no_answer() {
    let finished = greeter().run(&["-p", "/hello you"]);
    let shown = "hello you ! in print, ui false\n";
    assert_eq!((finished.code, finished.out.as_str(), finished.err.as_str()), (0, "", shown));
}

#[test]
fn a_returned_text_is_the_prompt() {
    let finished = greeter().run(&["-p", "/say read missing.txt"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(!finished.out.is_empty(), "{finished:?}");
}

#[test]
fn a_program_gets_notifications_and_answers_dialogs() {
    let mut program = greeter().rpc(&[]);
    program.send(json!({ "id": "1", "type": "prompt", "message": "/hello rpc" }));
    let shown = program.until(|event| event["method"] == "notify");
    assert_eq!(shown["message"], "hello rpc ! in rpc, ui true");
    assert_eq!(shown["notifyType"], "info");
    program.send(json!({ "id": "2", "type": "prompt", "message": "/ask" }));
    let select = program.until(|event| event["method"] == "select");
    assert_eq!((&select["title"], &select["options"]), (&json!("Which one?"), &json!(["first", "second"])));
    program.send(json!({ "type": "extension_ui_response", "id": select["id"], "value": "second" }));
    let confirm = program.until(|event| event["method"] == "confirm");
    assert_eq!(confirm["message"], "Really?");
    program.send(json!({ "type": "extension_ui_response", "id": confirm["id"], "confirmed": true }));
    let input = program.until(|event| event["method"] == "input");
    program.send(json!({ "type": "extension_ui_response", "id": input["id"], "cancelled": true }));
    let shown = program.until(|event| event["method"] == "notify");
    assert_eq!(shown["message"], r#"["second",true,"none"]"#);
    program.finish();
}

#[test]
fn without_a_user_dialogs_answer_at_once() {
    let lines = greeter().json(&["/ask"]);
    let shown = lines.iter().find(|line| line["type"] == "extension").unwrap();
    assert_eq!(shown["message"], r#"["none",false,"none"]"#);
}

#[test]
fn an_entry_of_an_extension_is_stored_and_read_at_once() {
    let mut program = greeter().rpc(&[]);
    for (text, all) in [("a", "a"), ("b", "a,b")] {
        program.send(json!({ "type": "prompt", "message": format!("/keep {text}") }));
        assert_eq!(program.until(|event| event["method"] == "notify")["message"], all);
    }
    program.finish();
}

#[test]
fn commands_are_listed() {
    let mut program = greeter().rpc(&[]);
    program.send(json!({ "id": "1", "type": "get_commands" }));
    let listed = program.until(|event| event["command"] == "get_commands");
    let commands = listed["data"]["commands"].as_array().unwrap();
    let hello = commands.iter().find(|command| command["name"] == "hello").unwrap();
    assert_eq!(hello["description"], "Greets somebody");
    assert_eq!(hello["source"], "extension");
    program.finish();
}

#[test]
fn a_handler_can_cancel_a_move() {
    let folder = ExtensionFolder::with(
        r#"
        export default function (pi) {
            pi.on("session_before_tree", async (event, ctx) => {
                const entries = event.preparation.entriesToSummarize.map((entry) => entry.type).join(",");
                ctx.ui.notify(`${event.type} ${entries} ${event.signal.aborted} ${event.preparation.label}`);
                return { cancel: true };
            });
            pi.on("session_tree", (event, ctx) => ctx.ui.notify("moved"));
            pi.registerCommand("back", {
                handler: async (_args, ctx) => {
                    const [first] = ctx.sessionManager.getBranch();
                    const { cancelled } = await ctx.navigateTree(first.id);
                    ctx.ui.notify(`cancelled: ${cancelled}`);
                },
            });
        }
        "#,
    );
    let mut program = folder.rpc(&[]);
    program.send(json!({ "type": "prompt", "message": "hello" }));
    program.until(|event| event["type"] == "agent_end");
    program.send(json!({ "type": "prompt", "message": "/back" }));
    let asked = program.until(|event| event["method"] == "notify");
    let text = asked["message"].as_str().unwrap();
    assert!(text.starts_with("session_before_tree ") && text.ends_with(" false undefined"), "{text}");
    assert_eq!(program.until(|event| event["method"] == "notify")["message"], "cancelled: true");
    program.finish();
}
