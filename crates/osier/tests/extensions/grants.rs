//! What an extension may do: asked once, stored with its code, and enforced.

use crate::support::ExtensionFolder;

const RUNNER: &str = "export default (pi) => {\n\
    pi.on('session_start', async (_event, ctx) => {\n\
        const result = await pi.exec('echo', ['ran']);\n\
        ctx.ui.notify(result.stdout.trim());\n\
    });\n\
};\n";

fn text(lines: &[serde_json::Value]) -> String {
    serde_json::to_string(lines).unwrap()
}

#[test]
fn an_extension_that_needs_something_is_loaded_only_when_it_is_allowed() {
    let folder = ExtensionFolder::new();
    folder.write("home/extensions/runner.ts", RUNNER);
    let lines = folder.json_found(&["hello"]);
    let failed = lines.iter().find(|line| line["method"] == "error").unwrap();
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("runs programs with your rights"), "{error}");
    assert!(error.contains("osier extensions enable ") && error.contains("runner.ts"), "{error}");
    assert!(!text(&lines).contains("\"ran\""));
    assert!(lines.iter().any(|line| line["type"] == "turn_ended"), "the agent goes on");

    let refused = folder.run_found(&["extensions", "enable", "runner"]);
    assert_eq!(refused.code, 2, "without a terminal it cannot ask: {refused:?}");
    let allowed = folder.run_found(&["extensions", "enable", "runner", "--yes"]);
    assert!(allowed.code == 0 && allowed.err.contains("runner is allowed"), "{allowed:?}");
    assert!(text(&folder.json_found(&["hello"])).contains("\"ran\""));

    folder.write("home/extensions/runner.ts", &RUNNER.replace("ran", "changed"));
    let lines = folder.json_found(&["hello"]);
    assert!(text(&lines).contains("its code changed since you allowed it"), "{lines:?}");
    assert!(!text(&lines).contains("\"changed\""));
}

#[test]
fn dash_e_is_consent_for_this_run() {
    let folder = ExtensionFolder::with(RUNNER);
    assert!(text(&folder.json(&["hello"])).contains("\"ran\""));
    assert!(!folder.path("home/extensions.json").exists());
}

#[test]
fn a_use_that_the_code_hides_is_refused() {
    let folder = ExtensionFolder::with(
        "export default (pi) => {\n\
            pi.on('session_start', async (_event, ctx) => {\n\
                const name = ['ex', 'ec'].join('');\n\
                const result = await pi[name]('touch', ['made']).catch((error) => error);\n\
                ctx.ui.notify(String(result.message ?? result.stderr));\n\
            });\n\
        };\n",
    );
    let lines = folder.json(&["hello"]);
    assert!(text(&lines).contains("this extension has no permission"), "{lines:?}");
    assert!(!folder.path("code/made").exists());
}

#[test]
fn info_says_what_an_extension_needs_and_where() {
    let folder = ExtensionFolder::new();
    folder.write("home/extensions/plain.ts", "export default () => {};\n");
    folder.write("home/extensions/runner.ts", RUNNER);
    let info = folder.run_found(&["extensions", "info", "runner"]);
    assert!(info.out.contains("runner: not allowed yet"), "{info:?}");
    assert!(
        info.out.contains("runs programs with your rights (") && info.out.contains("runner.ts:3: exec"),
        "{info:?}"
    );
    let list = folder.run_found(&["extensions", "list"]);
    assert!(list.out.contains("plain   on") && list.out.contains("needs nothing"), "{list:?}");
    let off = folder.run_found(&["extensions", "disable", "plain"]);
    assert!(off.err.contains("plain is off"), "{off:?}");
    assert!(folder.run_found(&["extensions", "list"]).out.contains("plain   off"), "{off:?}");
    let unknown = folder.run_found(&["extensions", "info", "nothing"]);
    assert!(unknown.code == 1 && unknown.err.contains("no extension nothing"), "{unknown:?}");
}

#[test]
fn a_file_that_is_not_installed_can_be_inspected_without_running_it() {
    let folder = ExtensionFolder::new();
    folder.write("new/runner.ts", RUNNER);
    let path = folder.path("new/runner.ts");
    let info = folder.run_found(&["extensions", "info", path.to_str().unwrap()]);
    assert!(info.code == 0 && info.out.contains("runner: not installed"), "{info:?}");
    assert!(info.out.contains("runs programs with your rights ("), "{info:?}");
    let json = folder.run_found(&["extensions", "info", path.to_str().unwrap(), "--json"]);
    assert!(json.out.contains("\"not installed\""), "{json:?}");
    assert!(!folder.path("code/made").exists(), "nothing ran");
    assert!(folder.run_found(&["extensions", "list"]).out.is_empty(), "nothing was installed");
}

#[test]
fn an_extension_that_needs_node_has_all_rights_and_says_so() {
    let folder = ExtensionFolder::new();
    folder.write("home/extensions/server.ts", "import http from 'node:http';\nexport default () => http;\n");
    let lines = folder.json_found(&["hello"]);
    let failed = lines.iter().find(|line| line["method"] == "error").unwrap();
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("runs in Node with your rights, not confined"), "{error}");
}

#[test]
fn without_node_an_extension_names_the_module_that_needs_it_and_the_rest_load() {
    let folder = ExtensionFolder::new();
    folder.write("home/extensions/server.ts", "import http from 'node:http';\nexport default () => http;\n");
    let speaker = "export default (pi) => pi.on('session_start', (_, ctx) => ctx.ui.notify('here'));\n";
    folder.write("home/extensions/speaker.ts", speaker);
    assert_eq!(folder.run_found(&["extensions", "enable", "server", "--yes"]).code, 0);
    let output = folder.found_command(&["--mode", "json", "hello"]).env("PATH", "/nowhere").output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(
        lines.contains("it needs Node (") && lines.contains("server.ts:1: import of node:http"),
        "{lines}"
    );
    assert!(lines.contains("there is no `node` in PATH"), "{lines}");
    assert!(lines.contains("\"here\""), "{lines}");
}

#[test]
fn keys_in_variables_are_not_passed_on() {
    let folder = ExtensionFolder::with(
        "export default (pi) => pi.on('session_start', async (_event, ctx) => {\n\
            const { stdout } = await pi.exec('env', []);\n\
            ctx.ui.notify(stdout);\n\
        });\n",
    );
    let mut command = folder.command(&["--mode", "json", "hello"]);
    let output = command.env("ANTHROPIC_API_KEY", "sk-ant-not-for-programs").output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("OSIER_HOME="), "{out}");
    assert!(!out.contains("sk-ant-not-for-programs"), "{out}");
}
