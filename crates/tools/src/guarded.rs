//! Files inside a project that other programs run or obey without being asked: hooks, settings of editors and agents, what a
//! shell reads when it starts, what a build server runs. Changing one of them is running something later.
//!
//! The project's own code (`Makefile`, `package.json`, `build.rs`, …) is not among them: writing it is the work.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path};

/// Folders and files with these names, wherever they lie in the project.
const NAMES: &[&str] = &[
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
    // What shells and tools read when they start.
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
    // Build servers.
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

/// Whether a file is one of these. `inside` is its path from the project, `real` the whole path; neither has a link in it.
pub(crate) fn is_guarded(inside: &Path, real: &Path) -> bool {
    let is_name = |part: Component<'_>| is_guarded_name(part.as_os_str());
    let folders = real.ancestors().skip(1).take(inside.components().count());
    inside.components().any(is_name) || folders.into_iter().any(is_git_folder)
}

pub(crate) fn is_guarded_name(name: &OsStr) -> bool {
    let name = visible(&name.to_string_lossy());
    NAMES.iter().any(|guarded| name == *guarded)
}

/// As a file system that ignores case and invisible characters compares names.
fn visible(name: &str) -> String {
    let is_invisible = |c: char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    name.chars().filter(|c| !is_invisible(*c)).flat_map(char::to_lowercase).collect()
}

/// A repository without a working tree has no `.git`, but hooks and settings as well.
fn is_git_folder(folder: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    has("HEAD") && has("objects") && has("refs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_a_forgiving_file_system_does() {
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
