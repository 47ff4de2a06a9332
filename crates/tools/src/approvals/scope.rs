//! Checks command arguments against the project, the location of programs, and the git repository.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use super::git_repository;
use crate::context::ToolContext;
use crate::paths::{kernel_folder, resolve_links};

/// The project that a command runs in.
#[derive(Debug)]
pub(super) struct CommandScope<'a> {
    ctx: &'a ToolContext,
    /// The link-free path of the project.
    root: PathBuf,
    has_plain_repository: OnceCell<bool>,
}

/// Shells that read plain words as our parser does.
const SHELLS: &[&str] = &["bash", "dash", "sh"];

impl<'a> CommandScope<'a> {
    /// `None` if families do not apply here: the shell is unusual, or the project contains key files that a search would find.
    pub(super) fn new(ctx: &'a ToolContext) -> Option<CommandScope<'a>> {
        let is_usual = |shell: &PathBuf| {
            shell.file_name().and_then(|name| name.to_str()).is_some_and(|name| SHELLS.contains(&name))
        };
        let root = resolve_links(&ctx.cwd).ok()?;
        (ctx.env.shell.as_ref().is_none_or(is_usual) && !ctx.protected.may_be_below(&root))
            .then_some(CommandScope { ctx, root, has_plain_repository: OnceCell::new() })
    }

    /// Whether a word, read as a path, is inside the project after following links. A word that is not a path counts as a file
    /// that does not exist yet, inside the project.
    pub(super) fn contains(&self, word: &str) -> bool {
        if word.starts_with(['~', ':']) || word.len() > 4096 {
            return false;
        }
        let real = resolve_links(&self.root.join(word));
        real.is_ok_and(|real| {
            real.starts_with(&self.root)
                && kernel_folder(&real).is_none()
                && !self.ctx.protected.key_files().contains_path(&real)
        })
    }

    /// Whether the shell would run a program from outside the project.
    pub(super) fn uses_system_program(&self, name: &str) -> bool {
        let path = self.ctx.env.vars.iter().find(|(variable, _)| variable == "PATH");
        let folders = path.map(|(_, folders)| std::env::split_paths(folders).collect()).unwrap_or_default();
        let folders: Vec<PathBuf> = folders;
        let found = folders.iter().map(|folder| self.root.join(folder).join(name)).find(|file| file.exists());
        found.is_some_and(|file| {
            let is_outside = |path: &Path| !path.starts_with(&self.root);
            is_outside(&file) && resolve_links(&file).is_ok_and(|real| is_outside(&real))
        })
    }

    pub(super) fn has_plain_repository(&self) -> bool {
        *self.has_plain_repository.get_or_init(|| {
            let is_elsewhere =
                self.ctx.env.vars.iter().any(|(name, _)| git_repository::is_redirected_by(name));
            !is_elsewhere && git_repository::is_plain(&self.root)
        })
    }
}
