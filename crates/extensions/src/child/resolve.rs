//! Which file or module of the library an import means: relative paths, `file:` URLs, packages in `node_modules`.

use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Resolver};
use rquickjs::{Ctx, Error};
use serde_json::Value;

use super::primitives::RuntimeState;
use super::runtime_library;

/// Tried in this order for an import without an extension.
const EXTENSIONS: &[&str] = &["ts", "tsx", "mts", "js", "mjs", "cjs", "json", "cts"];
/// The conditions of `exports` in `package.json` that hold here.
const CONDITIONS: &[&str] = &["import", "node", "module", "default", "require"];

pub(super) struct ModuleResolver {
    state: Rc<RuntimeState>,
}

impl ModuleResolver {
    pub(super) fn new(state: Rc<RuntimeState>) -> ModuleResolver {
        ModuleResolver { state }
    }
}

impl Resolver for ModuleResolver {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        resolve(&self.state, base, name).map_err(|reason| Error::new_resolving_message(base, name, reason))
    }
}

/// The name of a module of the library, or the path of a file.
pub(super) fn resolve(state: &RuntimeState, base: &str, name: &str) -> Result<String, String> {
    if let Some(module) = runtime_library::find(name).filter(|_| may_use(base, name)) {
        return Ok(module);
    }
    let file = find_file(base, name).ok_or_else(|| format!("Cannot find module '{name}'"))?;
    let file = file.canonicalize().map_err(|error| format!("Cannot find module '{name}': {error}"))?;
    state.check_root(&file)?;
    Ok(file.to_string_lossy().into_owned())
}

/// Modules of the library that are not part of its interface are only for the library.
fn may_use(base: &str, name: &str) -> bool {
    !name.starts_with("osier:") || base.starts_with("osier:")
}

/// The file that an import in `base` means.
pub(crate) fn find_file(base: &str, name: &str) -> Option<PathBuf> {
    let folder = Path::new(base).parent().unwrap_or(Path::new("/"));
    if let Some(path) = name.strip_prefix("file://") {
        return find_path(Path::new(path));
    }
    match name {
        _ if name.starts_with('/') => find_path(Path::new(name)),
        _ if name.starts_with("./") || name.starts_with("../") || name == "." || name == ".." => {
            find_path(&normalize(&folder.join(name)))
        }
        _ if name.starts_with('#') => find_own_import(folder, name),
        _ => find_package(folder, name),
    }
}

/// A name that starts with `#`: the `package.json` around the file says in `imports` what it means.
fn find_own_import(folder: &Path, name: &str) -> Option<PathBuf> {
    let named = |folder: &Path| Some((folder.to_owned(), std::fs::read(folder.join("package.json")).ok()?));
    let (root, manifest) = folder.ancestors().find_map(named)?;
    let manifest: Value = serde_json::from_slice(&manifest).ok()?;
    let target = find_target(manifest.get("imports")?.as_object()?, name)?;
    match target.starts_with('.') {
        true => find_path(&normalize(&root.join(target))),
        false => find_package(&root, &target),
    }
}

/// A file by its path, which may lack its extension or name a folder. TypeScript files may be imported as `.js`.
fn find_path(path: &Path) -> Option<PathBuf> {
    let with_extension = |extension: &&str| {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        PathBuf::from(name)
    };
    let typescript = match path.extension().and_then(|extension| extension.to_str()) {
        Some("js") => Some(path.with_extension("ts")),
        Some("jsx") => Some(path.with_extension("tsx")),
        Some("mjs") => Some(path.with_extension("mts")),
        _ => None,
    };
    let names = [path.to_owned()].into_iter().chain(EXTENSIONS.iter().map(with_extension)).chain(typescript);
    let in_folder = EXTENSIONS.iter().map(|extension| path.join(format!("index.{extension}")));
    names.chain(in_folder).find(|file| file.is_file())
}

/// A package in the nearest `node_modules` folder that has it.
fn find_package(folder: &Path, name: &str) -> Option<PathBuf> {
    let slashes = if name.starts_with('@') { 2 } else { 1 };
    let at = name.match_indices('/').nth(slashes - 1).map_or(name.len(), |(at, _)| at);
    let (package, rest) = name.split_at(at);
    let folders = folder.ancestors().map(|folder| folder.join("node_modules").join(package));
    let folder = folders.into_iter().find(|folder| folder.is_dir())?;
    let manifest = std::fs::read(folder.join("package.json")).ok();
    let manifest: Value = manifest.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
    let exported = manifest.get("exports").and_then(|exports| find_export(exports, &format!(".{rest}")));
    if let Some(file) = exported {
        return find_path(&normalize(&folder.join(file)));
    }
    if !rest.is_empty() {
        return find_path(&normalize(&folder.join(rest.trim_start_matches('/'))));
    }
    let named = ["module", "main"].into_iter().filter_map(|key| manifest.get(key)?.as_str());
    named.chain(["index"]).find_map(|file| find_path(&normalize(&folder.join(file))))
}

/// The file that `exports` names for a path in the package, which starts with a dot.
fn find_export(exports: &Value, path: &str) -> Option<String> {
    let has_paths = exports.as_object().is_some_and(|map| map.keys().any(|key| key.starts_with('.')));
    if !has_paths {
        return (path == ".").then(|| choose_condition(exports)).flatten();
    }
    find_target(exports.as_object()?, path)
}

/// What a map of names and patterns says about a name.
fn find_target(map: &serde_json::Map<String, Value>, path: &str) -> Option<String> {
    if let Some(target) = map.get(path) {
        return choose_condition(target);
    }
    map.iter().find_map(|(pattern, target)| {
        let (start, end) = pattern.split_once('*')?;
        let part = path.strip_prefix(start)?.strip_suffix(end)?;
        Some(choose_condition(target)?.replace('*', part))
    })
}

fn choose_condition(target: &Value) -> Option<String> {
    match target {
        Value::String(file) => Some(file.clone()),
        Value::Array(choices) => choices.iter().find_map(choose_condition),
        Value::Object(map) => map
            .iter()
            .filter(|(condition, _)| CONDITIONS.contains(&condition.as_str()))
            .find_map(|(_, target)| choose_condition(target)),
        _ => None,
    }
}

/// Removes `.` and `..` without asking the file system.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_are_found_without_their_extension() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["a.ts", "b/index.js", "c.json"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let base = folder.path().join("main.ts").to_string_lossy().into_owned();
        let found =
            |name: &str| find_file(&base, name).map(|file| file.strip_prefix(&folder).unwrap().to_owned());
        for (name, file) in
            [("./a", "a.ts"), ("./a.js", "a.ts"), ("./b", "b/index.js"), ("./b/../c.json", "c.json")]
        {
            assert_eq!(found(name).as_deref(), Some(Path::new(file)), "{name}");
        }
        assert_eq!(found("./missing"), None);
    }

    #[test]
    fn packages_are_found_by_their_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: String| {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("node_modules/plain/package.json", json!({ "main": "lib/main" }).to_string());
        write("node_modules/plain/lib/main.js", String::new());
        let exports = json!({ ".": { "types": "./t.d.ts", "import": "./esm.mjs" }, "./x/*": "./src/*.js" });
        write("node_modules/@s/p/package.json", json!({ "exports": exports }).to_string());
        write("node_modules/@s/p/esm.mjs", String::new());
        write("node_modules/@s/p/src/y.js", String::new());
        let base = folder.path().join("deep/main.ts").to_string_lossy().into_owned();
        for (name, file) in
            [("plain", "plain/lib/main.js"), ("@s/p", "@s/p/esm.mjs"), ("@s/p/x/y", "@s/p/src/y.js")]
        {
            assert_eq!(find_file(&base, name), Some(folder.path().join("node_modules").join(file)), "{name}");
        }
        assert_eq!(find_file(&base, "unknown"), None);
    }

    #[test]
    fn names_with_a_hash_are_those_of_the_own_package() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: String| {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let imports =
            json!({ "#src/*": "./src/*.ts", "#one": { "default": "./src/one.ts" }, "#other": "plain" });
        write("package.json", json!({ "imports": imports }).to_string());
        write("src/one.ts", String::new());
        write("node_modules/plain/index.js", String::new());
        let base = folder.path().join("src/deep/main.ts").to_string_lossy().into_owned();
        for (name, file) in
            [("#src/one", "src/one.ts"), ("#one", "src/one.ts"), ("#other", "node_modules/plain/index.js")]
        {
            assert_eq!(find_file(&base, name), Some(folder.path().join(file)), "{name}");
        }
        assert_eq!(find_file(&base, "#none"), None);
    }
}
