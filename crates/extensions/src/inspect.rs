//! The static pass over an extension and everything it imports: what it needs, in plain words, and a hash of the code.
//!
//! It decides what the user is asked, not what the extension can do: every call is checked again when it is made. It runs in the
//! process of extensions, because it parses code that nobody has approved.

mod uses;

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::child::{find_module, library_module};
use crate::grants::{Grant, Grants};
use crate::source::module_root;
use uses::{Import, SourceUses};

/// Limits. An extension with more code is not loaded.
const MAX_FILES: usize = 4_000;
const MAX_BYTES: usize = 64 << 20;

/// What an extension needs, and which code that was found in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionManifest {
    /// Where each need was found first, as `file:line: code`.
    pub needs: BTreeMap<Grant, String>,
    /// The options of the command line that it adds.
    #[serde(default)]
    pub flags: BTreeMap<String, FlagKind>,
    /// A hash of all files that the extension can load.
    pub hash: String,
    pub files: usize,
}

/// The hashes of all code that an extension may load. What was not inspected never runs in the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CodeHashes {
    hashes: BTreeMap<PathBuf, String>,
    /// Modules with `await` outside of functions, and those that import them.
    awaiting: BTreeSet<PathBuf>,
}

impl CodeHashes {
    /// Whether a module ends later than its code, because it or a module that it imports waits for something.
    pub(crate) fn awaits(&self, file: &Path) -> bool {
        self.awaiting.contains(file)
    }

    /// Fails if a file has another content than when it was inspected.
    pub(crate) fn check(&self, file: &Path, bytes: &[u8]) -> Result<(), String> {
        let known = self.hashes.get(file);
        if known.is_some_and(|hash| *hash == blake3::hash(bytes).to_hex().as_str()) {
            return Ok(());
        }
        let file = file.display();
        Err(match known {
            Some(_) => format!("{file} changed after Osier inspected it; /reload loads the extensions again"),
            None => format!(
                "{file} is not part of the code that Osier inspected; name it in an import, or load it by a path inside the extension's folder"
            ),
        })
    }
}

/// The result of the static pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inspection {
    pub(crate) manifest: ExtensionManifest,
    pub(crate) code: CodeHashes,
}

/// What a flag of the command line takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FlagKind {
    /// Nothing: it is given or not.
    Boolean,
    String,
}

impl ExtensionManifest {
    pub fn grants(&self) -> Grants {
        self.needs.keys().copied().collect()
    }

    /// `reads files, runs programs with your rights`.
    pub fn description(&self) -> String {
        let words: Vec<&str> = self.needs.keys().map(|grant| grant.description()).collect();
        words.join(", ")
    }
}

/// Inspects the extension with this entry file. The error names the file, like that of loading.
pub(crate) fn inspect(entry: &Path) -> Result<Inspection, String> {
    let entry = entry.canonicalize().map_err(|error| format!("{}: {error}", entry.display()))?;
    let root = module_root(&entry);
    let mut closure = Closure { queue: [entry].into(), ..Closure::default() };
    closure.add_sources_of(&root)?;
    closure.apply_engine(&root);
    closure.add_sources_outside(&root)?;
    closure.hash_unseen(&root);
    Ok(closure.finish(&root))
}

/// The files that an extension imports, as far as they are known.
#[derive(Debug, Default)]
struct Closure {
    queue: VecDeque<PathBuf>,
    /// Files that are not in the folder of the extension.
    outside: Vec<PathBuf>,
    seen: HashSet<PathBuf>,
    hashes: BTreeMap<PathBuf, blake3::Hash>,
    needs: BTreeMap<Grant, String>,
    flags: BTreeMap<String, FlagKind>,
    bytes: usize,
    /// A module is chosen at run time, so all sources of the extension belong to it.
    is_dynamic: bool,
    /// Which other files may be loaded.
    unseen: UnseenFiles,
    /// Which file imports which.
    edges: Vec<(PathBuf, PathBuf)>,
    /// Files with `await` outside of functions.
    awaiting: BTreeSet<PathBuf>,
}

/// Files that may be loaded although no import names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum UnseenFiles {
    #[default]
    None,
    /// The sources in the folder of the extension.
    Own,
    /// Those of its packages, too.
    WithPackages,
}

impl Closure {
    fn add_sources_of(&mut self, root: &Path) -> Result<(), String> {
        loop {
            while let Some(file) = self.queue.pop_front() {
                if !file.starts_with(root) {
                    self.outside.push(file);
                } else if self.seen.insert(file.clone()) {
                    self.add_file(&file)?;
                }
            }
            if !std::mem::take(&mut self.is_dynamic) {
                return Ok(());
            }
            let mut sources = Vec::new();
            list_sources(root, false, &mut sources);
            self.queue.extend(sources.into_iter().filter(|file| !self.seen.contains(file)));
            if self.queue.is_empty() {
                return Ok(());
            }
        }
    }

    /// Adds sources to the hash that may be loaded, as far as the limits allow. Most never are, so what they use does not count.
    fn hash_unseen(&mut self, root: &Path) {
        if self.unseen == UnseenFiles::None {
            return;
        }
        let mut sources = Vec::new();
        list_sources(root, self.unseen == UnseenFiles::WithPackages, &mut sources);
        for file in sources {
            let size = std::fs::metadata(&file)
                .map_or(0, |about| usize::try_from(about.len()).unwrap_or(usize::MAX));
            if self.hashes.len() >= MAX_FILES || self.bytes.saturating_add(size) > MAX_BYTES {
                return;
            }
            if let (false, Ok(bytes)) = (self.hashes.contains_key(&file), std::fs::read(&file)) {
                self.bytes += bytes.len();
                self.hashes.insert(file, blake3::hash(&bytes));
            }
        }
    }

    /// Only Node loads modules from outside the folder of the extension.
    fn add_sources_outside(&mut self, root: &Path) -> Result<(), String> {
        while self.needs.contains_key(&Grant::Node)
            && let Some(file) = self.outside.pop()
        {
            if self.seen.insert(file.clone()) {
                self.add_file(&file)?;
                self.add_sources_of(root)?;
            }
        }
        Ok(())
    }

    fn add_file(&mut self, file: &Path) -> Result<(), String> {
        let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        self.bytes += bytes.len();
        if self.hashes.len() >= MAX_FILES || self.bytes > MAX_BYTES {
            return Err(format!("{}: the extension has too much code", file.display()));
        }
        self.hashes.insert(file.to_owned(), blake3::hash(&bytes));
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("json") => return Ok(()),
            Some("node") => {
                self.need(Grant::Node, file, None, "a native module");
                return Ok(());
            }
            _ => {}
        }
        let source = String::from_utf8_lossy(&bytes);
        let uses = match uses::find_uses(file, &source) {
            Ok(uses) => uses,
            // Packages contain files that are never loaded.
            Err(_) if file.components().any(|part| part.as_os_str() == "node_modules") => return Ok(()),
            // Pages with JSX may be beside an extension. Neither engine loads them.
            Err(_) if file.extension().is_some_and(|name| name == "tsx" || name == "jsx") => return Ok(()),
            Err(error) => return Err(error),
        };
        self.add_uses(file, uses);
        Ok(())
    }

    fn add_uses(&mut self, file: &Path, uses: SourceUses) {
        self.flags.extend(uses.flags);
        if uses.awaits {
            self.awaiting.insert(file.to_owned());
        }
        for (grant, (line, code)) in &uses.needs {
            self.need(*grant, file, Some(*line), code);
        }
        let is_own = !file.components().any(|part| part.as_os_str() == "node_modules");
        if uses.requires_unseen && is_own {
            self.unseen = self.unseen.max(UnseenFiles::Own);
        }
        if let Some(line) = uses.dynamic {
            (self.is_dynamic, self.unseen) = (true, UnseenFiles::WithPackages);
            for grant in Grant::ALL.into_iter().filter(|grant| *grant != Grant::Node) {
                self.need(grant, file, Some(line), "a module that is chosen when the extension runs");
            }
        }
        if let Some((name, line)) = uses.only_in_node {
            let use_of = if name == "WebAssembly" { "use" } else { "import" };
            self.need(Grant::Node, file, Some(line), &format!("{use_of} of {name}"));
        }
        for Import { name, line } in uses.imports {
            match library_module(&name) {
                Some(_) => {}
                None if uses::needs_node(&name) => {
                    self.need(Grant::Node, file, Some(line), &format!("import of {name}"));
                }
                None => {
                    let found = find_module(&file.to_string_lossy(), &name);
                    if let Some(found) = found.and_then(|found| found.canonicalize().ok()) {
                        self.edges.push((file.to_owned(), found.clone()));
                        self.queue.push_back(found);
                    }
                }
            }
        }
    }

    /// `"pi": { "engine": "node" | "sandbox" }` in the package's manifest decides where the extension runs.
    fn apply_engine(&mut self, root: &Path) {
        let file = root.join("package.json");
        let manifest = std::fs::read(&file).ok();
        let manifest: Value =
            manifest.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
        match manifest.pointer("/pi/engine").and_then(Value::as_str) {
            Some("node") => self.need(Grant::Node, &file, None, "\"engine\": \"node\""),
            Some("sandbox") => drop(self.needs.remove(&Grant::Node)),
            _ => {}
        }
    }

    fn need(&mut self, grant: Grant, file: &Path, line: Option<u32>, code: &str) {
        let place = line.map_or_else(String::new, |line| format!(":{line}"));
        self.needs.entry(grant).or_insert_with(|| format!("{}{place}: {code}", file.display()));
    }

    /// Adds the files that import those that wait.
    fn add_importers_to_awaiting(&mut self) {
        let mut before = usize::MAX;
        while self.awaiting.len() != before {
            before = self.awaiting.len();
            let importers = self.edges.iter().filter(|(_, imported)| self.awaiting.contains(imported));
            let importers: Vec<PathBuf> = importers.map(|(file, _)| file.clone()).collect();
            self.awaiting.extend(importers);
        }
    }

    fn finish(mut self, root: &Path) -> Inspection {
        self.add_importers_to_awaiting();
        let mut hasher = blake3::Hasher::new();
        for (file, hash) in &self.hashes {
            let name = file.strip_prefix(root).unwrap_or(file).as_os_str().as_encoded_bytes();
            hasher.update(&(name.len() as u64).to_le_bytes()).update(name).update(hash.as_bytes());
        }
        let hash = hasher.finalize().to_hex().to_string();
        let files = self.hashes.len();
        let hashes = self.hashes.into_iter().map(|(file, hash)| (file, hash.to_hex().to_string())).collect();
        let manifest = ExtensionManifest { needs: self.needs, flags: self.flags, hash, files };
        Inspection { manifest, code: CodeHashes { hashes, awaiting: self.awaiting } }
    }
}

/// The sources below a folder, without links.
fn list_sources(folder: &Path, with_packages: bool, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        let is_source = matches!(
            path.extension().and_then(|extension| extension.to_str()),
            Some("ts" | "tsx" | "mts" | "cts" | "js" | "mjs" | "cjs" | "json")
        );
        match kind {
            Ok(kind) if kind.is_dir() && (with_packages || entry.file_name() != "node_modules") => {
                list_sources(&path, with_packages, found);
            }
            Ok(kind) if kind.is_file() && is_source => found.push(path),
            _ => {}
        }
        if found.len() > MAX_FILES {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inspected(files: &[(&str, &str)]) -> (tempfile::TempDir, ExtensionManifest) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let manifest = inspect(&folder.path().join(files[0].0)).unwrap().manifest;
        (folder, manifest)
    }

    fn needs(source: &str) -> Vec<Grant> {
        inspected(&[("x.ts", source)]).1.needs.into_keys().collect()
    }

    use Grant::{Environment, Network, Node, ReadFiles, RunPrograms, WriteFiles};

    #[test]
    fn needs_are_found_by_imports_and_globals() {
        for (source, expected) in [
            ("export default (pi) => pi.on('input', () => /a/.exec('b'));", &[][..]),
            ("import type { Stats } from 'fs'; import { join } from 'node:path'; join('a');", &[]),
            ("import { readFileSync } from 'node:fs'; readFileSync('a');", &[ReadFiles]),
            ("import * as fs from 'fs'; fs.existsSync('a'); fs.mkdirSync('b');", &[ReadFiles, WriteFiles]),
            ("import fs from 'fs'; hand(fs);", &[ReadFiles, WriteFiles]),
            ("import fs from 'fs'; const { statSync } = fs; statSync('a');", &[ReadFiles]),
            ("import { writeFile } from 'fs/promises'; writeFile('a', '');", &[WriteFiles]),
            ("const { rmSync } = require('fs'); rmSync('a');", &[WriteFiles]),
            ("import { spawn } from 'child_process'; spawn('a');", &[RunPrograms]),
            ("export default (pi) => pi.exec('git', ['status']);", &[RunPrograms]),
            ("export default (api) => { const { exec } = api; exec('a', []); };", &[RunPrograms]),
            ("export default (pi) => run(pi.exec.bind(pi));", &[RunPrograms]),
            ("export default (pi) => { const run = pi.exec; run('a', []); };", &[RunPrograms]),
            ("export default (api) => start({ exec: api.exec });", &[RunPrograms]),
            ("export default ({ exec }) => exec('a', []);", &[RunPrograms]),
            ("const start = async ({ exec: run }) => run('a', []); export default start;", &[RunPrograms]),
            (
                "export default function (p) { const { exec: run, ...rest } = p; run('a', []); }",
                &[RunPrograms],
            ),
            ("export default (extension) => { const go = extension.exec; go('a', []); };", &[RunPrograms]),
            ("export default (pi) => pi['exec']('a');", &[RunPrograms]),
            ("const re = /a/; re.exec(text);", &[]),
            ("import('node:fs').then((fs) => fs.readFileSync('a'));", &[ReadFiles, WriteFiles]),
            ("const fs = import('fs'); fs.then(({ statSync }) => statSync('a'));", &[ReadFiles, WriteFiles]),
            ("hand(import('fs'));", &[ReadFiles, WriteFiles]),
            ("const { statSync } = await import('fs'); statSync('a');", &[ReadFiles]),
            ("(await import('fs')).statSync('a'); require('fs').lstatSync('b');", &[ReadFiles]),
            ("let fs; fs = require('fs');", &[ReadFiles, WriteFiles]),
            ("RegExp.prototype.exec.call(/a/, 'b');", &[]),
            ("const { env } = process; env.SECRET;", &[Environment]),
            ("const { pid, ...rest } = process; rest.env.SECRET;", &[Environment]),
            ("const { argv } = process; argv;", &[]),
            ("fetch('https://x');", &[Network]),
            (
                "export default (pi) => pi.registerProvider('a', { apiKey: '!pass a' });",
                &[RunPrograms, Network],
            ),
            ("SessionManager.inMemory();", &[]),
            ("SessionManager.open('a.jsonl');", &[ReadFiles, WriteFiles]),
            ("globalThis.fetch('https://x');", &[Network]),
            ("const home = process.env.HOME; const { PATH } = process.env;", &[]),
            ("process.env.SECRET;", &[Environment]),
            ("const key = process.env['SECRET'];", &[Environment]),
            ("const { SECRET } = process.env;", &[Environment]),
            ("run({ ...process.env });", &[Environment]),
            ("import http from 'node:http'; http.get('x');", &[Network, Node]),
            ("import { getHeapSnapshot } from 'node:process'; getHeapSnapshot();", &[Node]),
            ("WebAssembly.instantiate(code);", &[Node]),
            ("const has = typeof WebAssembly === 'object';", &[]),
            ("import { Absent } from '@earendil-works/pi-tui'; Absent();", &[]),
            ("import(name);", &[ReadFiles, WriteFiles, RunPrograms, Network, Environment]),
        ] {
            assert_eq!(needs(source), expected, "{source}");
        }
    }

    #[test]
    fn the_closure_has_local_files_and_packages_and_its_hash_changes_with_each() {
        let files = [
            ("package.json", r#"{ "name": "x" }"#),
            ("src/index.ts", "import { go } from './lib.js'; export default go;"),
            ("src/lib.ts", "import read from 'reader'; export const go = () => read('a');"),
            ("node_modules/reader/package.json", r#"{ "main": "main.js" }"#),
            ("node_modules/reader/main.js", "module.exports = require('fs').readFileSync;"),
            ("other.ts", "import 'child_process';"),
        ];
        let (folder, _) = inspected(&files[1..]);
        std::fs::write(folder.path().join("package.json"), files[0].1).unwrap();
        let entry = folder.path().join("src/index.ts");
        let inspect = |entry: &Path| inspect(entry).unwrap().manifest;
        let first = inspect(&entry);
        assert_eq!(first.files, 3);
        let place = &first.needs[&ReadFiles];
        assert!(place.contains("node_modules/reader/main.js:1: "), "{place}");
        std::fs::write(folder.path().join("other.ts"), "1").unwrap();
        assert_eq!(inspect(&entry), first);
        std::fs::write(folder.path().join("node_modules/reader/main.js"), "module.exports = 1;").unwrap();
        let second = inspect(&entry);
        assert!(second.hash != first.hash && second.needs.is_empty());
    }

    #[test]
    fn a_module_chosen_at_run_time_adds_all_sources() {
        let files = [("x.ts", "export default () => import(name);"), ("y.ts", "import 'node:http';")];
        let (_folder, manifest) = inspected(&files);
        assert_eq!(manifest.files, 2);
        assert!(manifest.needs.contains_key(&Node));
    }

    #[test]
    fn a_hidden_require_adds_the_sources_of_the_folder_to_the_hash() {
        for hidden in [
            "import { createRequire } from 'node:module'; const load = createRequire(import.meta.url); export default () => load(name);",
            "const load = require; export default () => load('./' + name);",
            "export default () => module.require(name);",
        ] {
            let files = [("x.ts", hidden), ("y.ts", "import 'node:http';"), ("node_modules/a/index.js", "1")];
            let (_folder, manifest) = inspected(&files);
            assert_eq!(manifest.files, 2, "{hidden}");
            assert!(manifest.needs.is_empty(), "{hidden}");
        }
        for plain in [
            "const data = require('./y.ts');",
            "import { createRequire } from 'module'; const load = createRequire(import.meta.url); load('./y.ts');",
        ] {
            let files = [("x.ts", plain), ("y.ts", "1"), ("z.ts", "1")];
            assert_eq!(inspected(&files).1.files, 2, "{plain}");
        }
    }

    #[test]
    fn a_module_chosen_at_run_time_may_be_one_of_a_package_whose_code_is_hashed() {
        let files = [
            ("x.ts", "export default () => import(name);"),
            ("node_modules/a/index.js", "import 'node:http';"),
        ];
        let (folder, manifest) = inspected(&files);
        assert_eq!(manifest.files, 2);
        assert!(!manifest.needs.contains_key(&Node), "most packages are never loaded");
        let package = folder.path().join(files[1].0).canonicalize().unwrap();
        let code = inspect(&folder.path().join(files[0].0)).unwrap().code;
        assert!(code.check(&package, files[1].1.as_bytes()).is_ok());
        let changed = code.check(&package, b"1").unwrap_err();
        assert!(changed.contains("changed after Osier inspected it"), "{changed}");
        let unknown = code.check(Path::new("/other.js"), b"1").unwrap_err();
        assert!(unknown.contains("is not part of the code that Osier inspected"), "{unknown}");
    }

    #[test]
    fn pages_beside_an_extension_are_no_error() {
        let files =
            [("x.ts", "export default () => import(name);"), ("page.tsx", "export const a = <p>hi</p>;")];
        assert_eq!(inspected(&files).1.files, 2);
    }

    #[test]
    fn files_outside_the_folder_that_node_loads_belong_to_the_extension() {
        let files = [
            ("in/extension/x.ts", "import 'node:http'; import '../../out/outside.cjs';"),
            ("out/outside.cjs", "require('./deeper.cjs');"),
            ("out/deeper.cjs", "require('child_process').spawn('a');"),
        ];
        let (folder, first) = inspected(&files);
        assert_eq!(first.files, 3);
        assert!(first.needs.contains_key(&RunPrograms));
        std::fs::write(folder.path().join("out/deeper.cjs"), "1").unwrap();
        assert_ne!(inspect(&folder.path().join(files[0].0)).unwrap().manifest.hash, first.hash);
    }

    #[test]
    fn flags_are_found() {
        let source = "export default (pi) => { pi.registerFlag('plan', { type: 'boolean' }); \
                      pi.registerFlag('ssh', { description: 'x', type: 'string' }); };";
        let flags = inspected(&[("x.ts", source)]).1.flags;
        let expected = [("plan", FlagKind::Boolean), ("ssh", FlagKind::String)];
        assert_eq!(flags, expected.map(|(name, kind)| (name.to_owned(), kind)).into());
    }

    #[test]
    fn a_manifest_chooses_the_engine() {
        let engine = |name: &str, source: &str| {
            let manifest = format!(r#"{{ "pi": {{ "engine": "{name}" }} }}"#);
            let folder = inspected(&[("x.ts", source), ("package.json", &manifest)]).0;
            inspect(&folder.path().join("x.ts")).unwrap().manifest.needs.contains_key(&Node)
        };
        assert!(engine("node", "export default () => {};"));
        assert!(!engine("sandbox", "import 'node:http';"));
        assert!(engine("other", "import 'node:http';"));
    }

    #[test]
    fn needs_name_the_line_of_the_source() {
        let source = "interface A {\n  x: string;\n}\n\nexport default (pi: any) => {\n  fetch('x');\n};\n";
        let (_folder, manifest) = inspected(&[("x.ts", source)]);
        assert!(manifest.needs[&Network].ends_with("x.ts:6: fetch"), "{manifest:?}");
        assert_eq!(manifest.description(), "uses the network");
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x.ts"), "\nconst = ;").unwrap();
        let error = inspect(&folder.path().join("x.ts")).unwrap_err();
        assert!(error.contains("x.ts:2: "), "{error}");
    }
}
