//! Guarded files: files inside a project that other programs execute or obey automatically, such as git hooks, settings of
//! editors and agents, shell startup files and CI configuration. Changing one of them runs something later.
//!
//! The project's own code (`Makefile`, `package.json`, `build.rs`, …) is not guarded: writing it is the task.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path};

/// Folders and files with these names are guarded anywhere in the project.
const GUARDED_NAMES: &[&str] = &[
    // Repositories and their hooks.
    ".git",
    ".gitconfig",
    ".gitmodules",
    ".husky",
    ".lefthook.yml",
    "lefthook.yml",
    ".pre-commit-config.yaml",
    // Agents and editors.
    ".osier",
    ".pi",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".mcp.json",
    ".devcontainer",
    ".idea",
    ".vscode",
    ".exrc",
    ".nvim.lua",
    ".vimrc",
    // Startup files of shells and tools.
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".profile",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    ".config",
    ".envrc",
    ".inputrc",
    ".npmrc",
    ".ssh",
    ".tmux.conf",
    ".yarnrc",
    ".yarnrc.yml",
    // Continuous integration.
    ".buildkite",
    ".circleci",
    ".drone.yml",
    ".forgejo",
    ".gitea",
    ".github",
    ".gitlab",
    ".gitlab-ci.yml",
    ".travis.yml",
    ".woodpecker",
    ".woodpecker.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "jenkinsfile",
];

/// Whether a file is guarded. `inside` is its path relative to the project, `real` the absolute path; both are link-free.
pub(crate) fn is_guarded(inside: &Path, real: &Path) -> bool {
    let is_name = |part: Component<'_>| is_guarded_name(part.as_os_str());
    let folders = real.ancestors().skip(1).take(inside.components().count());
    inside.components().any(is_name) || folders.into_iter().any(is_git_folder)
}

pub(crate) fn is_guarded_name(name: &OsStr) -> bool {
    let name = normalized_name(&name.to_string_lossy());
    GUARDED_NAMES.iter().any(|guarded| name == *guarded)
}

/// Normalizes a name as a file system does that ignores case and invisible characters.
fn normalized_name(name: &str) -> String {
    let is_invisible = |c: char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    name.chars().filter(|c| !is_invisible(*c)).flat_map(char::to_lowercase).collect()
}

/// Whether a folder is a bare repository: it has no `.git`, but it has hooks and settings.
fn is_git_folder(folder: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    has("HEAD") && has("objects") && has("refs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case_and_invisible_characters() {
        let is_guarded = |path: &str| is_guarded(Path::new(path), &Path::new("/project").join(path));
        for path in
            [".git/hooks/x", "sub/.GIT/config", ".g\u{200c}it/config", "a/.vscode/tasks.json", "Jenkinsfile"]
        {
            assert!(is_guarded(path), "{path}");
        }
        for path in [".gitignore", ".github.md", "git/x", "src/main.rs", "config/x", "Makefile"] {
            assert!(!is_guarded(path), "{path}");
        }
    }
}
