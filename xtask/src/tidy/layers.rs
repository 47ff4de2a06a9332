//! Checks crate dependencies: each crate may use only crates of lower levels. Reads manifests, not code.

use toml::{Table, Value};

use super::{Finding, SourceFile};

/// The level of each crate. Add new crates here.
const LEVELS: &[(&str, u8)] = &[
    ("tree", 0),
    ("store", 1),
    ("highlight", 1),
    ("session", 2),
    ("model", 2),
    ("tools", 2),
    ("store-mysql", 2),
    ("offline", 3),
    ("protocol", 3),
    ("viewer", 4),
    ("agent", 4),
    ("engine", 5),
    ("wire", 6),
    ("tui", 7),
    ("gateway", 7),
    ("rpc", 7),
    ("extensions", 7),
    ("import", 7),
    ("settings", 8),
    ("local-engine", 9),
    ("osier", 10),
];
const TESTKIT: &str = "testkit";

/// Clients: views of sessions. They know only the engine, the protocol, its frames, the viewer and the colors of code, so that
/// any of them can be replaced.
const CLIENTS: &[&str] = &["tui", "gateway", "rpc", "acp"];
const CLIENTS_USE: &[&str] = &["engine", "protocol", "wire", "viewer", "highlight"];

/// What the command may use below the engine, and why.
const COMMAND_EXCEPTIONS: &[(&str, &str)] = &[
    ("tree", "pure functions that turn entries and trees into the text that it prints"),
    (
        "store",
        "the memory store of `--no-session`, the file system checks of the doctor, the benchmarks of the file store",
    ),
    ("model", "`models` and `doctor` ask the servers of providers, which concerns no session"),
    ("tools", "the process of a sandboxed command starts in this binary; the doctor tries the sandbox"),
];

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    files
        .iter()
        .filter_map(|file| Some((file, crate_folder(&file.path)?)))
        .flat_map(|(file, name)| check_manifest(file, name))
        .collect()
}

/// `tree` for `crates/tree/Cargo.toml`, `xtask` for its own manifest.
fn crate_folder(path: &str) -> Option<&str> {
    match path.strip_suffix("/Cargo.toml")? {
        "xtask" => Some("xtask"),
        other => other.strip_prefix("crates/").filter(|name| !name.contains('/')),
    }
}

fn check_manifest(file: &SourceFile, name: &str) -> Vec<Finding> {
    let table = match file.text.parse::<Table>() {
        Ok(table) => table,
        Err(error) => {
            return vec![Finding::new(&file.path, 1, format!("not valid TOML: {}", error.message()))];
        }
    };
    let mut findings: Vec<Finding> = check_lints(file, &table).into_iter().collect();
    findings.extend(check_package_name(file, name, &table));
    for (section, used) in dependencies(&table) {
        if let Some(advice) = check_dependency(name, &used, section) {
            findings.push(Finding::new(&file.path, line_of(&file.text, &used), advice));
        }
    }
    findings
}

fn check_lints(file: &SourceFile, table: &Table) -> Option<Finding> {
    let inherited = table.get("lints").and_then(|lints| lints.get("workspace")).and_then(Value::as_bool);
    (inherited != Some(true)).then(|| Finding::new(&file.path, 1, "add `[lints]` with `workspace = true`"))
}

fn check_package_name(file: &SourceFile, name: &str, table: &Table) -> Option<Finding> {
    let wanted = if matches!(name, "osier" | "xtask") { name.to_owned() } else { format!("osier-{name}") };
    let given = table.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
    (given != Some(&wanted)).then(|| {
        Finding::new(
            &file.path,
            line_of(&file.text, "name"),
            format!("name the package `{wanted}`, like its folder"),
        )
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DependencySection {
    Normal,
    Dev,
}

/// All packages that a manifest depends on, including renamed and target-specific ones.
fn dependencies(table: &Table) -> Vec<(DependencySection, String)> {
    let mut found = Vec::new();
    let per_target = table.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    for table in std::iter::once(table).chain(per_target.filter_map(Value::as_table)) {
        for (key, section) in [
            ("dependencies", DependencySection::Normal),
            ("build-dependencies", DependencySection::Normal),
            ("dev-dependencies", DependencySection::Dev),
        ] {
            for (name, spec) in table.get(key).and_then(Value::as_table).into_iter().flatten() {
                let package = spec.get("package").and_then(Value::as_str).unwrap_or(name);
                found.push((section, package.to_owned()));
            }
        }
    }
    found
}

/// The problem with `user` depending on `used`, if any.
fn check_dependency(user: &str, used: &str, section: DependencySection) -> Option<String> {
    if user == "tree" && used == "tokio" {
        return Some("the tree crate does no I/O and is not async; remove tokio".to_owned());
    }
    let used = if used == "osier" { used } else { used.strip_prefix("osier-")? };
    if used == TESTKIT {
        let allowed = section == DependencySection::Dev || matches!(user, "xtask" | TESTKIT);
        return (!allowed).then(|| "only tests may use testkit; move it to [dev-dependencies]".to_owned());
    }
    // A crate's tests may depend on the crate itself to enable a feature.
    let itself = user == used && section == DependencySection::Dev;
    if itself || matches!(user, "xtask" | TESTKIT) {
        return None;
    }
    let (Some(above), Some(below)) = (level(user), level(used)) else {
        let unknown = if level(user).is_none() { user } else { used };
        return Some(format!("crate `{unknown}` has no level; add it to xtask/src/tidy/layers.rs"));
    };
    if section == DependencySection::Normal && CLIENTS.contains(&user) && !CLIENTS_USE.contains(&used) {
        return Some(format!(
            "`{user}` is a client: it may use only {}, not `{used}`",
            CLIENTS_USE.join(" and ")
        ));
    }
    let is_below_engine = Some(below) < level("engine") && used != "protocol";
    let is_command = user == "osier" && section == DependencySection::Normal;
    if is_command && is_below_engine && !COMMAND_EXCEPTIONS.iter().any(|(name, _)| *name == used) {
        return Some(format!(
            "the command uses the engine and the protocol, not `{used}`; see COMMAND_EXCEPTIONS"
        ));
    }
    (below >= above).then(|| {
        format!("`{user}` (level {above}) must not use `{used}` (level {below}): move the code to a lower level or accept a trait")
    })
}

fn level(name: &str) -> Option<u8> {
    LEVELS.iter().find(|(known, _)| *known == name).map(|(_, level)| *level)
}

/// The line that starts with a key, or else the first line that contains it.
fn line_of(text: &str, key: &str) -> usize {
    let starts = |line: &&str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
    };
    let place = text
        .lines()
        .position(|line| starts(&line))
        .or_else(|| text.lines().position(|line| line.contains(key)));
    place.map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(folder: &str, dependencies: &str) -> Vec<String> {
        let package = if folder == "osier" { folder.to_owned() } else { format!("osier-{folder}") };
        let text = format!("[package]\nname = \"{package}\"\n[lints]\nworkspace = true\n{dependencies}");
        check(&[SourceFile { path: format!("crates/{folder}/Cargo.toml"), text }])
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn lower_levels_are_allowed() {
        assert!(findings("session", "[dependencies]\nosier-tree.workspace = true\nserde = \"1\"").is_empty());
        assert!(findings("store", "[dev-dependencies]\nosier-testkit.workspace = true").is_empty());
        assert!(findings("testkit", "[dependencies]\nosier-session.workspace = true").is_empty());
    }

    #[test]
    fn same_or_higher_level_is_reported_with_its_line() {
        let found = findings("store", "[dependencies]\nosier-session.workspace = true");
        assert!(
            found[0]
                .starts_with("crates/store/Cargo.toml:6: `store` (level 1) must not use `session` (level 2)"),
            "{found:?}"
        );
        assert_eq!(findings("tools", "[dependencies.renamed]\npackage = \"osier-model\"").len(), 1);
        assert_eq!(
            findings("tree", "[target.'cfg(unix)'.dependencies]\nosier-store.workspace = true").len(),
            1
        );
        assert_eq!(findings("tree", "[dev-dependencies]\ntokio.workspace = true").len(), 1);
    }

    #[test]
    fn clients_use_only_the_engine_and_the_protocol() {
        assert!(findings("tui", "[dependencies]\nosier-protocol.workspace = true").is_empty());
        assert!(findings("tui", "[dev-dependencies]\nosier-tree.workspace = true").is_empty());
        let found = findings("tui", "[dependencies]\nosier-tree.workspace = true");
        assert!(found[0].contains("`tui` is a client"), "{found:?}");
    }

    #[test]
    fn the_command_uses_no_crate_below_the_engine_without_a_reason() {
        assert!(findings("osier", "[dependencies]\nosier-tools.workspace = true").is_empty());
        assert!(findings("osier", "[dev-dependencies]\nosier-session.workspace = true").is_empty());
        let found = findings("osier", "[dependencies]\nosier-session.workspace = true");
        assert!(found[0].contains("not `session`"), "{found:?}");
    }

    #[test]
    fn testkit_is_only_for_tests() {
        assert_eq!(findings("osier", "[dependencies]\nosier-testkit.workspace = true").len(), 1);
    }

    #[test]
    fn a_crate_needs_a_level_a_name_and_the_lints() {
        assert!(
            findings("store", "[dependencies]\nosier-shed.workspace = true")[0]
                .contains("`shed` has no level")
        );
        let bare = SourceFile {
            path: "crates/tree/Cargo.toml".to_owned(),
            text: "[package]\nname = \"tree\"\n".to_owned(),
        };
        assert_eq!(check(&[bare]).len(), 2);
    }
}
