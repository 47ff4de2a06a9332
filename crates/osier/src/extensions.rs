//! The extensions of a run: those of the command line, of the user and of a trusted project.

pub(crate) mod command;
pub(crate) mod flags;
mod install;
pub(crate) mod measure;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use osier_engine::{EngineConfig, Hooks, Session};
use osier_extensions::{
    ExtensionHost, ExtensionLauncher, ExtensionMode, ExtensionOptions, ExtensionOrigin, ExtensionSource,
    FlagValues,
};
use osier_settings::extensions::{HomeCatalog, PackageContents, PackageSource};

use crate::failure::{fail, usage_error};
use crate::home::{self, Home};
use crate::layout::sanitize_line;
use crate::output_writer::notice;
use crate::run::progress_lines;

/// Which extensions a command loads.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExtensionArgs {
    /// Files and folders of `-e`.
    pub(crate) extensions: Vec<PathBuf>,
    /// Load no others.
    pub(crate) no_extensions: bool,
}

/// The extensions of this run, if there are any.
#[derive(Debug, Default)]
pub(crate) struct RunExtensions(Option<Arc<ExtensionHost>>);

impl RunExtensions {
    /// Fails if an extension of the command line cannot be loaded. A program that starts Osier must notice that.
    pub(crate) async fn check(&self, session: &Session) -> Result<()> {
        let Some(host) = &self.0 else { return Ok(()) };
        let failures = host.load_failures(session).await;
        match failures.is_empty() {
            true => Ok(()),
            false => fail!(Failed, "{}", sanitize_line(&failures.join("; "))),
        }
    }

    /// Prints what no client has shown.
    pub(crate) fn print_unshown(&self) {
        let events = self.0.iter().flat_map(|host| host.take_unshown());
        for line in events.filter_map(|event| progress_lines::extension_line(&event)) {
            notice(&line);
        }
    }
}

/// Registers the extensions as hooks, if there can be any. Nothing is started before a session needs them.
pub(crate) fn register(
    mut home: Home,
    args: &ExtensionArgs,
    mode: ExtensionMode,
) -> Result<(Home, RunExtensions)> {
    let mut command_line = Vec::new();
    for path in &args.extensions {
        command_line.extend(find(path, &home)?);
    }
    // In the terminal, `/reload` finds the first one that the user writes.
    let discovers = !args.no_extensions && (home.may_have_extensions() || mode == ExtensionMode::Terminal);
    if command_line.is_empty() && !discovers {
        return Ok((home, RunExtensions::default()));
    }
    let catalog: Box<dyn osier_extensions::ExtensionCatalog> = match discovers {
        true => Box::new(HomeCatalog { home: home.clone(), command_line }),
        false => Box::new(command_line),
    };
    let host = ExtensionHost::new(ExtensionOptions {
        catalog,
        launcher: launcher(&home),
        mode,
        data_folder: home.extension_data(),
        protected: home.protected_from_extensions(),
        variables: home.command_variables(),
        themes: osier_settings::themes::theme_names(&home),
        flags: FlagValues::default(),
        client_commands: match mode {
            ExtensionMode::Terminal => own_commands(),
            _ => Vec::new(),
        },
    });
    let hooks = Arc::new(Hooks::new(vec![host.registered()]));
    home.engine = home.engine.with_config(EngineConfig { hooks, ..home.engine.config().clone() });
    host.set_engine(home.engine.clone());
    Ok((home, RunExtensions(Some(host))))
}

/// The commands of the terminal that pi has too. Extensions for pi cannot count on those names.
const COMMANDS_OF_PI: &[&str] = &[
    "compact", "copy", "export", "fork", "model", "name", "new", "quit", "resume", "session", "settings",
    "thinking", "tree",
];

/// The commands that only Osier's terminal has.
fn own_commands() -> Vec<String> {
    osier_tui::command_names().into_iter().filter(|name| !COMMANDS_OF_PI.contains(&name.as_str())).collect()
}

fn launcher(home: &Home) -> ExtensionLauncher {
    ExtensionLauncher::Program((home.host.launcher)())
}

/// The extensions of a file, a folder or a package. A package from npm or git is installed if it is not there yet, for this run only.
fn find(path: &Path, home: &Home) -> Result<Vec<ExtensionSource>> {
    let place = match path.to_str().and_then(PackageSource::parse) {
        Some(source @ (PackageSource::Npm { .. } | PackageSource::Git { .. })) => {
            install::find_or_install(&source, home)?
        }
        _ => home::cwd()?.join(path),
    };
    let files = PackageContents::read(&place).extensions;
    if files.is_empty() {
        let name = sanitize_line(&place.to_string_lossy());
        return Err(usage_error(format!(
            "-e {name}: no extension there; name a .ts or .js file, a package, npm:NAME or git:URL"
        )));
    }
    let origin = ExtensionOrigin::CommandLine;
    Ok(files.into_iter().map(|path| ExtensionSource { path, origin }).collect())
}
