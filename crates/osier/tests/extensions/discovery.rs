//! Where extensions are found, in which modes they run, and `--no-extensions`.

use serde_json::json;

use crate::support::ExtensionFolder;

/// Says that it was loaded.
fn speaker(name: &str) -> String {
    format!(
        "export default (pi) => {{ pi.on('session_start', (_event, ctx) => ctx.ui.notify('{name}')); }};\n"
    )
}

fn notices(lines: &[serde_json::Value]) -> Vec<&str> {
    lines
        .iter()
        .filter(|line| line["method"] == "notify")
        .filter_map(|line| line["message"].as_str())
        .collect()
}

#[test]
fn extensions_of_the_user_the_settings_and_a_trusted_project_are_loaded() {
    let folder = ExtensionFolder::new();
    folder.write("home/extensions/a.ts", &speaker("user file"));
    folder.write("home/extensions/b/index.ts", &speaker("user folder"));
    folder.write("other/c.ts", &speaker("setting"));
    folder.write("home/config.toml", &format!("extensions = [{:?}]\n", folder.path("other/c.ts")));
    folder.write("code/.osier/extensions/d.ts", &speaker("project"));
    let lines = folder.json_found(&["hello"]);
    assert_eq!(notices(&lines), ["user file", "user folder", "setting"]);
    let trusted = folder.run_found(&["trust", "--yes"]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    let lines = folder.json_found(&["hello"]);
    assert_eq!(notices(&lines), ["project", "user file", "user folder", "setting"]);
    let lines = folder.json_found(&["--no-extensions", "hello"]);
    assert!(notices(&lines).is_empty(), "{lines:?}");
}

#[test]
fn a_broken_extension_is_reported_and_the_rest_load() {
    let folder = ExtensionFolder::new();
    folder.write("home/extensions/a.ts", "export default () => { throw new Error('no start'); };\n");
    folder.write("home/extensions/b.ts", &speaker("fine"));
    let lines = folder.json_found(&["hello"]);
    assert_eq!(notices(&lines), ["fine"]);
    let failed = lines.iter().find(|line| line["method"] == "error").unwrap();
    assert_eq!(
        (&failed["event"], &failed["error"]),
        (&json!("load"), &json!("Failed to load extension: no start"))
    );
}

#[test]
fn commands_on_sessions_ask_extensions() {
    let folder = ExtensionFolder::new();
    folder.write(
        "home/extensions/x.ts",
        "export default (pi) => {\n\
         pi.on('session_before_tree', () => ({ cancel: true }));\n\
         pi.on('session_before_fork', () => { throw new Error('fork failed on purpose'); });\n\
         pi.on('before_provider_request', ({ payload }) => ({ ...payload, system: `${payload.system} changed by x` }));\n\
         pi.on('context', (event) => ({ messages: [...event.messages, { role: 'user', content: 'added by x', timestamp: 1 }] }));\n\
         };\n",
    );
    let id = folder.run_found(&["sessions", "append", "hello"]);
    assert_eq!(id.code, 0, "{id:?}");
    let listed = folder.run_found(&["sessions", "list", "--json"]);
    let cards: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let session = cards
        .pointer("/sessions/0/id")
        .or_else(|| cards.pointer("/0/id"))
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned();
    let moved = folder.run_found(&["sessions", "move", &session, "root"]);
    assert!(moved.err.contains("An extension refused it"), "{moved:?}");
    let forked = folder.run_found(&["sessions", "fork", &session]);
    assert!(forked.err.contains("fork failed on purpose") && forked.code == 0, "{forked:?}");
    let shown = folder.run_found(&["sessions", "context", &session, "--request", "--json"]);
    assert!(shown.out.contains("added by x") && shown.out.contains("changed by x"), "{shown:?}");
    let shown =
        folder.run_found(&["sessions", "context", &session, "--request", "--json", "--no-extensions"]);
    assert!(shown.code == 0 && !shown.out.contains("by x"), "{shown:?}");
}

#[test]
fn reload_runs_the_code_as_it_is_now() {
    let folder = ExtensionFolder::new();
    folder.write("home/extensions/x.ts", &speaker("first"));
    let path = folder.path("home/extensions/x.ts");
    let mut program = folder.rpc_found(&[]);
    assert_eq!(program.until(|event| event["method"] == "notify")["message"], "first");
    std::fs::write(path, speaker("second")).unwrap();
    program.send(json!({ "type": "prompt", "message": "/reload" }));
    assert_eq!(program.until(|event| event["method"] == "notify")["message"], "second");
    program.finish();
}
