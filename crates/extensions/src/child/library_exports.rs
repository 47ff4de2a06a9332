//! The names that the modules of the library export, read from their sources.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::runtime_library;

type Names = Arc<HashSet<&'static str>>;

/// Whether a module of the library lacks an export. False for modules that are not of the library.
pub(crate) fn lacks_export(module: &str, name: &str) -> bool {
    static KNOWN: LazyLock<Mutex<HashMap<String, Names>>> = LazyLock::new(Mutex::default);
    if runtime_library::source(module).is_none() {
        return false;
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let names = known.entry(module.to_owned()).or_insert_with(|| {
        let mut names = HashSet::new();
        add_exports(module, &mut names);
        Arc::new(names)
    });
    !names.contains(name)
}

/// Adds what a module exports. The library has few forms of exports; a test compares with the real modules.
fn add_exports(module: &str, names: &mut HashSet<&'static str>) {
    let source = runtime_library::source(module).unwrap_or_default();
    let mut rest = source;
    while let Some(at) = find_export(rest) {
        rest = &rest[at + "export ".len()..];
        if let Some(from) = rest.strip_prefix("* from \"") {
            add_exports(from.split('"').next().unwrap_or_default(), names);
        } else if rest.starts_with("default ") {
            names.insert("default");
        } else if let Some(list) = rest.strip_prefix('{').or_else(|| rest.strip_prefix("const {")) {
            let list = list.split('}').next().unwrap_or_default();
            // `a as b` exports b; `a: b` binds b.
            let exported = list
                .split(',')
                .filter_map(|item| item.split([' ', ':', '\n', '\t']).rfind(|word| !word.is_empty()));
            names.extend(exported);
        } else {
            let declared = rest.trim_start_matches("async ");
            let name =
                declared.split_once([' ', '*']).map_or("", |(_, name)| name.trim_start_matches([' ', '*']));
            let end =
                name.find(|c: char| !c.is_ascii_alphanumeric() && !"_$".contains(c)).unwrap_or(name.len());
            names.insert(&name[..end]);
        }
    }
}

/// Where the next `export` at the start of a line is.
fn find_export(source: &str) -> Option<usize> {
    if source.starts_with("export ") {
        return Some(0);
    }
    source.find("\nexport ").map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_exports_are_read_and_the_functions_that_extensions_use_are_there() {
        for (module, name) in [
            ("osier:modules/pi-coding-agent.js", "getAgentDir"),
            ("osier:modules/pi-coding-agent.js", "SessionManager"),
            ("osier:modules/pi-coding-agent.js", "truncateHead"),
            ("osier:modules/pi-agent-core.js", "createSessionId"),
            ("osier:modules/pi-tui.js", "Text"),
            ("osier:node/fs.js", "readFileSync"),
            ("osier:node/fs.js", "R_OK"),
            ("osier:node/fs/promises.js", "readFile"),
            ("osier:node/path.js", "default"),
        ] {
            assert!(!lacks_export(module, name), "{module} {name}");
        }
        let node = [
            (
                "path",
                "join dirname resolve basename isAbsolute relative sep extname normalize parse format delimiter posix win32",
            ),
            (
                "fs",
                "readFileSync existsSync writeFileSync mkdirSync statSync readdirSync unlinkSync renameSync appendFileSync rmSync \
                lstatSync copyFileSync realpathSync accessSync mkdtempSync openSync closeSync readSync writeSync watch watchFile \
                unwatchFile createReadStream createWriteStream constants promises readFile chmodSync symlinkSync utimesSync",
            ),
            (
                "fs/promises",
                "readFile writeFile mkdir stat readdir rm rename unlink open access appendFile copyFile lstat realpath mkdtemp",
            ),
            ("os", "homedir tmpdir platform hostname userInfo EOL cpus arch release"),
            ("child_process", "spawn execFile spawnSync execSync exec execFileSync fork"),
            ("url", "fileURLToPath pathToFileURL URL"),
            ("crypto", "randomUUID createHash randomBytes createHmac timingSafeEqual"),
            ("util", "promisify inspect format stripVTControlCharacters"),
            ("events", "EventEmitter once"),
            ("timers", "setTimeout clearTimeout setInterval"),
            ("buffer", "Buffer"),
            ("process", "env cwd platform"),
        ];
        let count: usize = node.iter().map(|(_, names)| names.split_whitespace().count()).sum();
        assert!(count >= 91, "{count} functions");
        for (module, name) in
            node.iter().flat_map(|(module, names)| names.split_whitespace().map(move |name| (module, name)))
        {
            assert!(!lacks_export(&format!("osier:node/{module}.js"), name), "{module} {name}");
        }
        assert!(lacks_export("osier:modules/pi-tui.js", "NoSuchComponent"));
        assert!(!lacks_export("left-pad", "anything"));
    }
}
