//! Packages of npm, from a registry that the test serves. They need npm, unless `OSIER_NO_NODE` is set.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::ExtensionFolder;

/// Packs a folder as npm does. Returns the archive; `None` if the tests shall do without Node.
fn pack(folder: &Path) -> Option<Vec<u8>> {
    if std::env::var_os("OSIER_NO_NODE").is_some() {
        eprintln!("NOT RUN: OSIER_NO_NODE is set");
        return None;
    }
    let output = Command::new("npm").args(["pack", "--ignore-scripts"]).current_dir(folder).output();
    let output = output.expect("install npm, or set OSIER_NO_NODE=1");
    assert!(output.status.success(), "{output:?}");
    let name = String::from_utf8(output.stdout).unwrap();
    Some(std::fs::read(folder.join(name.trim())).unwrap())
}

/// Serves one package until the test ends. Returns the URL of the registry.
fn serve(name: &'static str, archive: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let own = url.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, name, &own, &archive);
        }
    });
    url
}

fn answer(mut stream: TcpStream, name: &str, url: &str, archive: &[u8]) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let request = lines.next().unwrap_or_default();
    lines.find(String::is_empty);
    let version =
        json!({ "name": name, "version": "1.0.0", "dist": { "tarball": format!("{url}/archive.tgz") } });
    let manifest =
        json!({ "name": name, "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": version } });
    let (status, body) = match request.split(' ').nth(1) {
        Some("/archive.tgz") => ("200 OK", archive.to_vec()),
        Some(path) if path.trim_start_matches('/') == name => ("200 OK", manifest.to_string().into_bytes()),
        _ => ("404 Not Found", b"{}".to_vec()),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    // npm may close the connection early.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}

#[test]
fn a_package_of_npm_is_added_without_running_its_scripts() {
    let folder = ExtensionFolder::new();
    let manifest = json!({ "name": "greeter-package", "version": "1.0.0", "pi": { "extensions": ["./main.ts"] },
        "scripts": { "install": format!("touch {}", folder.path("script-ran").display()) } });
    folder.write("source/package.json", &manifest.to_string());
    let source = "import { text } from './text'; \
        export default (pi) => { pi.on('session_start', (_event, ctx) => ctx.ui.notify(text)); };\n";
    folder.write("source/main.ts", source);
    folder.write("source/text.ts", "export const text: string = 'from npm';\n");
    let Some(archive) = pack(&folder.path("source")) else { return };
    let registry = serve("greeter-package", archive);
    let mut add = folder.found_command(&["extensions", "add", "npm:greeter-package"]);
    let cache = folder.path("npm-cache");
    let output = add.env("npm_config_registry", &registry).env("npm_config_cache", cache).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = folder.json_found(&["hello"]);
    assert!(lines.iter().any(|line| line["message"] == "from npm"), "{lines:?}");
    assert!(!folder.path("script-ran").exists(), "no script of the package ran");
    assert_eq!(folder.run_found(&["extensions", "remove", "greeter-package"]).code, 0);
    let lines = folder.json_found(&["hello"]);
    assert!(lines.iter().all(|line| line["message"] != "from npm"), "{lines:?}");
}

#[test]
fn a_package_of_npm_is_loaded_for_one_run() {
    let folder = ExtensionFolder::new();
    let manifest = json!({ "name": "one-run", "version": "1.0.0", "pi": { "extensions": ["./main.ts"] } });
    folder.write("source/package.json", &manifest.to_string());
    let source = "export default (pi) => { pi.on('session_start', (_event, ctx) => ctx.ui.notify('for one run')); };\n";
    folder.write("source/main.ts", source);
    let Some(archive) = pack(&folder.path("source")) else { return };
    let registry = serve("one-run", archive);
    let says = |args: &[&str]| {
        let mut command = folder.found_command(args);
        let cache = folder.path("npm-cache");
        let output =
            command.env("npm_config_registry", &registry).env("npm_config_cache", cache).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().contains("for one run")
    };
    assert!(says(&["--mode", "json", "-e", "npm:one-run", "hello"]));
    assert!(!says(&["--mode", "json", "hello"]), "it was not added");
    // It is installed, so that the second time needs no registry.
    let mut again = folder.found_command(&["--mode", "json", "-e", "npm:one-run", "hello"]);
    let output = again.env("npm_config_registry", "http://127.0.0.1:9").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("for one run"));
}
