//! Tools of extensions, and the gates around tool calls.

use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, ClientEvent, UserAnswer};
use serde_json::json;

use super::TestSession;

const ADDER: &str = r#"
import { Type } from "typebox";
export default (pi) => {
	pi.registerTool({
		name: "add",
		label: "Add",
		description: "Adds numbers",
		parameters: Type.Object({ a: Type.Number(), b: Type.Number(), note: Type.Optional(Type.String()) }),
		async execute(id, params, signal, onUpdate, ctx) {
			if (params.a < 0) throw new Error("too small");
			onUpdate({ content: [{ type: "text", text: "working" }] });
			return { content: [{ type: "text", text: `${id}: ${params.a + params.b}` }], details: { sum: params.a + params.b } };
		},
	});
};
"#;

fn call(arguments: serde_json::Value) -> [ScriptedTurn; 2] {
    [ScriptedTurn::new().call("c1", "add", &arguments), ScriptedTurn::reply("done")]
}

#[tokio::test]
async fn a_tool_is_offered_and_runs() {
    let mut session = TestSession::new(&[ADDER], call(json!({ "a": "2", "b": 3 }))).await;
    session.turn("add").await;
    assert_eq!(session.request_texts().last().unwrap(), "c1: 5");
    let request = session.model.requests().pop().unwrap();
    let tool = request.tools.iter().find(|tool| tool.name == "add").unwrap();
    assert_eq!(tool.parameters["required"], json!(["a", "b"]));
    let entries = session.entries().await;
    let result = entries.iter().find(|entry| entry["message"]["role"] == "toolResult").unwrap();
    assert_eq!(result["message"]["details"]["sum"], 5);
}

#[tokio::test]
async fn a_failing_tool_is_an_error_result() {
    let mut session = TestSession::new(&[ADDER], call(json!({ "a": -1, "b": 3 }))).await;
    session.turn("add").await;
    assert_eq!(session.request_texts().last().unwrap(), "too small");
}

#[tokio::test]
async fn arguments_are_validated() {
    let mut session = TestSession::new(&[ADDER], call(json!({ "b": 3 }))).await;
    session.turn("add").await;
    let text = session.request_texts().pop().unwrap();
    assert!(
        text.starts_with("Validation failed for tool \"add\":\n  - a: missing\n\nReceived arguments:\n"),
        "{text}"
    );
}

#[tokio::test]
async fn handlers_change_arguments_and_results() {
    let gate = r#"export default (pi) => {
        pi.on("tool_call", (event) => { if (event.toolName === "add") event.input.a = 10; });
        pi.on("tool_result", (event) => ({ content: [{ type: "text", text: `${event.content[0].text}!` }] }));
        pi.on("tool_result", (event) => ({ details: { seen: event.content[0].text } }));
    };"#;
    let mut session = TestSession::new(&[ADDER, gate], call(json!({ "a": 1, "b": 1 }))).await;
    session.turn("add").await;
    assert_eq!(session.request_texts().last().unwrap(), "c1: 11!");
    let entries = session.entries().await;
    let result = entries.iter().find(|entry| entry["message"]["role"] == "toolResult").unwrap();
    assert_eq!(result["message"]["details"]["seen"], "c1: 11!");
}

#[tokio::test]
async fn the_first_block_ends_the_question() {
    let block =
        r#"export default (pi) => pi.on("tool_call", () => ({ block: true, reason: "not allowed" }));"#;
    let later = r#"export default (pi) => pi.on("tool_call", (_event, ctx) => ctx.ui.notify("asked"));"#;
    let mut session = TestSession::new(&[ADDER, block, later], call(json!({ "a": 1, "b": 1 }))).await;
    session.turn("add").await;
    assert_eq!(session.request_texts().last().unwrap(), "not allowed");
}

#[tokio::test]
async fn an_extension_chooses_the_active_tools() {
    let chooser = r#"export default (pi) => {
        pi.registerCommand("only", { handler: (_, ctx) => {
            pi.setActiveTools(["add", "unknown"]);
            ctx.ui.notify(pi.getActiveTools().join(","));
        } });
    };"#;
    let mut session = TestSession::new(&[ADDER, chooser], [ScriptedTurn::reply("ok")]).await;
    session.send("/only").await;
    assert_eq!(session.notified().await, "add");
    session.turn("hello").await;
    let request = session.model.requests().pop().unwrap();
    let names: Vec<_> =
        request.tools.iter().map(|tool| tool.name.as_str()).filter(|name| *name != "backtrack").collect();
    assert_eq!(names, ["add"]);
}

#[tokio::test]
async fn the_grants_are_the_approval_of_a_tool_but_not_of_one_that_replaces_a_built_in_one() {
    let tool = |name: &str| {
        format!(
            "import {{ Type }} from 'typebox'; import {{ writeFileSync }} from 'node:fs';
            export default (pi) => pi.registerTool({{ name: '{name}', label: 'm', description: 'd', parameters: Type.Object({{ command: Type.String() }}),
                execute: async () => {{ writeFileSync('made', ''); return {{ content: [{{ type: 'text', text: 'ran' }}] }}; }} }});"
        )
    };
    let turns = |name: &str| {
        [ScriptedTurn::new().call("c1", name, &json!({ "command": "true" })), ScriptedTurn::reply("done")]
    };
    let is_question = |event: &ClientEvent| matches!(event, ClientEvent::Asked { .. });
    let ends = |event: &ClientEvent| is_question(event) || matches!(event, ClientEvent::TurnEnded { .. });
    let mut session = TestSession::new(&[&tool("mine")], turns("mine")).await;
    session.send("go").await;
    assert!(!is_question(&session.until(ends).await), "a tool of its own asks nothing");
    assert_eq!(session.request_texts().last().unwrap(), "ran");

    let mut session = TestSession::new(&[&tool("bash")], turns("bash")).await;
    session.send("go").await;
    let ClientEvent::Asked { id, .. } = session.until(ends).await else { panic!("it asks like bash") };
    assert!(!session.folder().join("made").exists());
    session
        .client_send(ClientCommand::Answer {
            question: id,
            answer: UserAnswer::No { reason: "not now".to_owned() },
        })
        .await;
    session.turn_ended().await;
    assert!(session.request_texts().last().unwrap().contains("not now"));
    assert!(!session.folder().join("made").exists());
}

#[tokio::test]
async fn calls_of_extensions_run_in_parallel_unless_a_tool_wants_to_run_alone() {
    let source = "import { Type } from 'typebox';
        export default (pi) => {
            let running = 0;
            let release;
            const both = new Promise((done) => { release = done; });
            const tool = (name, executionMode) => pi.registerTool({ name, label: 'm', description: 'd', parameters: Type.Object({}), executionMode,
                execute: async () => {
                    running += 1;
                    const most = running;
                    if (running === 2) release();
                    if (!executionMode) await both;
                    else await new Promise((done) => setTimeout(done, 20));
                    running -= 1;
                    return { content: [{ type: 'text', text: String(most) }] };
                } });
            tool('together'); tool('alone', 'sequential');
        };";
    let turn = |name: &str| ScriptedTurn::new().call("c1", name, &json!({})).call("c2", name, &json!({}));
    let turns = [turn("together"), ScriptedTurn::reply("done"), turn("alone"), ScriptedTurn::reply("done")];
    let mut session = TestSession::new(&[source], turns).await;
    // Neither call ends before both run.
    session.turn("go").await;
    assert_eq!(session.request_texts(), ["go", "", "1", "2"]);
    session.turn("go").await;
    assert_eq!(session.request_texts()[7..], ["1", "1"]);
}

#[tokio::test]
async fn a_tool_says_whether_the_model_gets_it_at_once() {
    let source = "export default (pi) => {
        const tool = (name, more) => pi.registerTool({ name, description: 'd', parameters: { type: 'object', properties: {} }, execute: async () => ({ content: [] }), ...more });
        tool('shown'); tool('waiting', { defaultActive: false }); tool('script', { exposure: 'codemode' }); tool('never', { exposure: 'hidden' });
        const own = ['shown', 'waiting', 'script', 'never', 'late'];
        pi.registerCommand('state', { handler: (_, ctx) => ctx.ui.notify(pi.getActiveTools().filter((name) => own.includes(name)).join()) });
        pi.registerCommand('choose', { handler: () => pi.setActiveTools(['waiting', 'never']) });
        pi.registerCommand('more', { handler: () => { tool('late'); tool('shown'); } });
        pi.registerCommand('kinds', { handler: (_, ctx) => ctx.ui.notify(pi.getAllTools().filter(({ name }) => own.includes(name)).map(({ exposure }) => exposure).join()) });
    };";
    let mut session = TestSession::new(&[source], []).await;
    session.send("/state").await;
    assert_eq!(session.notified().await, "shown");
    session.send("/choose").await;
    session.send("/state").await;
    assert_eq!(session.notified().await, "waiting");
    session.send("/more").await;
    session.send("/state").await;
    assert_eq!(session.notified().await, "waiting,late", "only what is new becomes active");
    session.send("/kinds").await;
    assert_eq!(session.notified().await, "direct,codemode,hidden,direct,direct");
}

#[tokio::test]
async fn a_canceled_call_learns_it() {
    let source = "export default (pi) => pi.registerTool({ name: 'wait', description: 'd', parameters: { type: 'object', properties: {} },
        execute: (id, params, signal, onUpdate, ctx) => new Promise((resolve) => {
            signal.addEventListener('abort', () => { ctx.ui.notify('aborted'); resolve({ content: [] }); });
            ctx.ui.notify('running');
        }) });";
    let turns = [ScriptedTurn::new().call("c1", "wait", &json!({})), ScriptedTurn::reply("done")];
    let mut session = TestSession::new(&[source], turns).await;
    session.send("go").await;
    assert_eq!(session.notified().await, "running");
    session.client_send(ClientCommand::Cancel).await;
    assert_eq!(session.notified().await, "aborted");
}
