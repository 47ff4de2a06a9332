//! The files in `web/`: the style, and modules that a gateway serves as they are and an export joins into one script.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

pub const STYLE: &str = include_str!("../web/style.css");
pub const DOM: &str = include_str!("../web/dom.js");
pub const STATE: &str = include_str!("../web/state.js");
pub const OUTLINE: &str = include_str!("../web/outline.js");
pub const TREE: &str = include_str!("../web/tree.js");
pub const DELEGATION: &str = include_str!("../web/delegation.js");
pub const ENTRY_PARTS: &str = include_str!("../web/entry_parts.js");
pub const TRANSCRIPT: &str = include_str!("../web/transcript.js");
pub const MENU: &str = include_str!("../web/menu.js");
pub const OVERVIEW: &str = include_str!("../web/overview.js");
pub const CONTROLS: &str = include_str!("../web/controls.js");
pub const EXPORT: &str = include_str!("../web/export.js");

/// The page of a gateway.
pub const LIVE_PAGE: &str = include_str!("../web/live.html");

/// A file that a gateway serves.
#[derive(Debug, Clone, Copy)]
pub struct WebFile {
    pub name: &'static str,
    pub content: &'static str,
}

macro_rules! web_files {
    ($($name:literal),* $(,)?) => { &[$(WebFile { name: $name, content: include_str!(concat!("../web/", $name)) }),*] };
}

/// The style and the modules of the page of a gateway.
pub const WEB_FILES: &[WebFile] = web_files![
    "actions.js",
    "bodies.js",
    "commands.js",
    "compare.js",
    "completion.js",
    "composer.js",
    "connection.js",
    "controls.js",
    "delegation.js",
    "dialog.js",
    "dom.js",
    "drafts.js",
    "early.js",
    "entry_parts.js",
    "explore.js",
    "hits.js",
    "keys.js",
    "label_editor.js",
    "live.css",
    "live.js",
    "live_session.js",
    "live_state.js",
    "menu.js",
    "outline.js",
    "overview.js",
    "partial_json.js",
    "questions.js",
    "scroll.js",
    "session_list.js",
    "state.js",
    "status.js",
    "style.css",
    "task_actions.js",
    "transcript.js",
    "tree.js",
    "view.js",
];

/// Names the content of the files of the page: another version of the program has another name for other files.
pub fn web_files_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let mut hash = Sha256::new();
        for file in WEB_FILES {
            hash.update(file.name);
            hash.update(file.content);
        }
        hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    });
    &VERSION
}

/// The modules of an export, each after those that it imports.
const EXPORT_MODULES: &[&str] =
    &[DOM, MENU, STATE, OUTLINE, TREE, OVERVIEW, DELEGATION, ENTRY_PARTS, TRANSCRIPT, CONTROLS, EXPORT];

/// The script of an export: a page that is opened from a disk cannot import modules. A module would wait for the end of the file.
pub fn export_script() -> String {
    let modules: String = EXPORT_MODULES.iter().map(|module| without_imports(module)).collect();
    format!("(() => {{\n\"use strict\";\n{modules}}})();\n")
}

/// Imports and exports are single lines that start with the word. A test checks that.
fn without_imports(module: &str) -> String {
    let lines = module.lines().filter(|line| !line.starts_with("import "));
    lines.map(|line| format!("{}\n", line.strip_prefix("export ").unwrap_or(line))).collect()
}

/// The hash by which a content security policy allows an inline script or style.
pub fn policy_hash(content: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_single_lines_of_known_modules() {
        for module in EXPORT_MODULES {
            for line in module.lines().filter(|line| line.trim_start().starts_with("import ")) {
                assert!(line.starts_with("import {") && line.ends_with(".js\";"), "{line}");
            }
        }
        let script = export_script();
        assert!(!script.contains("\nimport ") && !script.contains("\nexport "));
    }

    /// Without it, a browser finds a module only when it has read the one that imports it.
    #[test]
    fn the_page_preloads_every_module() {
        for file in WEB_FILES.iter().filter(|file| file.name.ends_with(".js")) {
            assert!(
                LIVE_PAGE.contains(&format!("<link rel=\"modulepreload\" href=\"/assets/{}\">", file.name)),
                "{}",
                file.name
            );
        }
    }

    #[test]
    fn nothing_ends_the_elements_of_an_export() {
        assert!(!export_script().to_lowercase().contains("</script") && !export_script().contains("<!--"));
        assert!(!STYLE.to_lowercase().contains("</style"));
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
        let script = export_script().replace("http://www.w3.org/2000/svg", "");
        for word in ["http:", "https:", "fetch(", "XMLHttpRequest", "WebSocket", "eval("] {
            assert!(!script.contains(word), "{word}");
        }
    }

    #[test]
    fn a_policy_hash_is_the_hash_of_the_content() {
        assert_eq!(policy_hash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }
}
