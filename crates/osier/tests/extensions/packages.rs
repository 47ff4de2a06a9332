//! Packages: added by path and from git, with what their `package.json` names.

use std::process::Command;

use crate::support::ExtensionFolder;

const NOTIFY: &str = "export default (pi) => { pi.on('session_start', (_event, ctx) => ctx.ui.notify('from the package')); };\n";

fn write_package(folder: &ExtensionFolder) {
    folder.write(
        "package/package.json",
        r#"{ "name": "my-package", "pi": { "extensions": ["./src/*.ts"], "prompts": ["./prompts"] } }"#,
    );
    folder.write("package/src/a.ts", NOTIFY);
    folder.write("package/prompts/greet.md", "Say hello to $1\n");
}

fn says_hello(folder: &ExtensionFolder) -> bool {
    let lines = folder.json_found(&["hello"]);
    lines.iter().any(|line| line["message"] == "from the package")
}

#[test]
fn a_folder_is_added_disabled_enabled_and_removed() {
    let folder = ExtensionFolder::new();
    write_package(&folder);
    let path = folder.path("package");
    let added = folder.run_found(&["extensions", "add", path.to_str().unwrap()]);
    assert!(added.code == 0 && added.out.contains("Added "), "{added:?}");
    assert!(says_hello(&folder));
    let command = folder.json_found(&["/greet world"]);
    assert!(serde_json::to_string(&command).unwrap().contains("Say hello to world"), "{command:?}");
    assert_eq!(folder.run_found(&["extensions", "disable", "my-package"]).code, 0);
    assert!(!says_hello(&folder));
    assert_eq!(folder.run_found(&["extensions", "enable", "my-package"]).code, 0);
    assert!(says_hello(&folder));
    assert_eq!(folder.run_found(&["extensions", "remove", "my-package"]).code, 0);
    assert!(!says_hello(&folder));
    assert!(path.join("src/a.ts").exists(), "the folder of the user stays");
    let removed = folder.run_found(&["extensions", "remove", "my-package"]);
    assert!(removed.code == 1 && removed.err.contains("no package my-package"), "{removed:?}");
}

#[test]
fn a_file_that_was_added_has_the_name_of_its_extension() {
    let folder = ExtensionFolder::new();
    folder.write("protect.ts", NOTIFY);
    let path = folder.path("protect.ts");
    assert_eq!(folder.run_found(&["extensions", "add", path.to_str().unwrap()]).code, 0);
    assert!(says_hello(&folder));
    let removed = folder.run_found(&["extensions", "remove", "protect"]);
    assert!(removed.code == 0 && removed.err.contains("Removed "), "{removed:?}");
    assert!(!says_hello(&folder) && path.exists());
}

#[test]
fn a_repository_is_cloned_and_updated() {
    let folder = ExtensionFolder::new();
    write_package(&folder);
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args);
        let output = command.current_dir(folder.path("package")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "first"]);
    let source = format!("git:file://{}", folder.path("package").display());
    let added = folder.run_found(&["extensions", "add", &source]);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(says_hello(&folder));
    folder.write("package/src/a.ts", &NOTIFY.replace("notify(", "notify(\"new \" + "));
    git(&["commit", "--quiet", "-a", "-m", "second"]);
    let updated = folder.run_found(&["extensions", "update", "my-package"]);
    assert!(updated.code == 0 && updated.out.contains("Updated "), "{updated:?}");
    let lines = folder.json_found(&["hello"]);
    assert!(lines.iter().any(|line| line["message"] == "new from the package"), "{lines:?}");
    assert_eq!(folder.run_found(&["extensions", "remove", "my-package"]).code, 0);
    assert!(std::fs::read_dir(folder.path("home/packages/git")).unwrap().next().is_none());
}

#[test]
fn another_version_for_one_run_leaves_the_added_package_alone() {
    let folder = ExtensionFolder::new();
    write_package(&folder);
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args);
        let output = command.current_dir(folder.path("package")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let notified = |args: &[&str]| {
        let lines = folder.json_found(&[args, &["hello"]].concat());
        let texts: Vec<String> =
            lines.iter().filter_map(|line| Some(line["message"].as_str()?.to_owned())).collect();
        texts
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "first"]);
    git(&["tag", "v1"]);
    folder.write("package/src/a.ts", &NOTIFY.replace("notify(", "notify(\"new \" + "));
    git(&["commit", "--quiet", "-a", "-m", "second"]);
    let source = format!("git:file://{}", folder.path("package").display());
    assert_eq!(folder.run_found(&["extensions", "add", &source]).code, 0);
    let first = format!("{source}@v1");
    assert_eq!(notified(&[]), ["new from the package"]);
    assert_eq!(notified(&["--no-extensions", "-e", &first]), ["from the package"]);
    assert_eq!(notified(&[]), ["new from the package"]);
    std::fs::remove_dir_all(folder.path("package")).unwrap();
    assert_eq!(notified(&["--no-extensions", "-e", &first]), ["from the package"], "it is cloned once");
}

#[test]
fn sources_that_cannot_be_are_refused() {
    let folder = ExtensionFolder::new();
    for source in ["npm:../x", "git:--upload-pack=touch x", "npm:-g"] {
        let added = folder.run_found(&["extensions", "add", source]);
        assert_eq!(added.code, 2, "{added:?}");
    }
    let empty = folder.path("code");
    let added = folder.run_found(&["extensions", "add", empty.to_str().unwrap()]);
    assert!(added.code == 1 && added.err.contains("contains no extensions"), "{added:?}");
    folder.write("greeter-1.0.0.tgz", "");
    let archive = folder.path("greeter-1.0.0.tgz");
    let added = folder.run_found(&["extensions", "add", archive.to_str().unwrap()]);
    assert!(added.code == 1 && added.err.contains("it is an archive; unpack it"), "{added:?}");
}

#[test]
fn a_folder_that_names_folders_is_loaded_with_its_modules() {
    let folder = ExtensionFolder::new();
    let manifest = r##"{ "imports": { "#lib/*": "./lib/*.ts" }, "pi": { "extensions": ["./extensions", "./more/*.ts", "!./more/off.ts"] } }"##;
    folder.write("package/package.json", manifest);
    folder.write("package/lib/text.ts", "export const text: string = 'from a module';");
    folder.write("package/node_modules/words/index.js", "module.exports = ['and', 'a', 'package'];");
    let source = "import { text } from '#lib/text'; import words from 'words'; \
        export default (pi) => { pi.on('session_start', (_event, ctx) => ctx.ui.notify([text, ...words].join(' '))); };";
    folder.write("package/extensions/index.ts", source);
    folder.write("package/more/one.ts", NOTIFY);
    folder.write("package/more/off.ts", &NOTIFY.replace("from", "off"));
    let package = folder.path("package");
    let lines = folder.json_found(&["-e", package.to_str().unwrap(), "hello"]);
    let notified: Vec<&str> = lines.iter().filter_map(|line| line["message"].as_str()).collect();
    assert_eq!(notified, ["from a module and a package", "from the package"], "{lines:?}");
}
