//! The extensions of a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use osier_engine::{EngineConfig, Hooks, Session};
use osier_extensions::{
    ExtensionHost, ExtensionLauncher, ExtensionMode, ExtensionOptions, ExtensionOrigin, ExtensionSource,
    Grant, Grants, entry_files,
};

use super::args::{Args, FrontEnd, OutputMode};
use crate::failure::{fail, usage_error};
use crate::home::{self, Home};
use crate::layout::sanitize_line;

/// The extensions of this run, if there are any.
#[derive(Debug, Default)]
pub(super) struct RunExtensions(Option<Arc<ExtensionHost>>);

impl RunExtensions {
    /// Fails if an extension of the command line cannot be loaded. A program that starts Osier must notice that.
    pub(super) async fn check(&self, session: &Session) -> Result<()> {
        let Some(host) = &self.0 else { return Ok(()) };
        let failures = host.load_failures(session).await;
        match failures.is_empty() {
            true => Ok(()),
            false => fail!(Failed, "{}", sanitize_line(&failures.join("; "))),
        }
    }
}

/// Registers the extensions of the command line as hooks. Nothing is started before a session needs them.
pub(super) fn register(home: Home, args: &Args) -> Result<(Home, RunExtensions)> {
    register_files(home, &args.extensions, mode(args))
}

/// Registers the extensions of a gateway. Its clients answer dialogs like those of RPC.
pub(crate) fn register_for_clients(home: Home, files: &[PathBuf]) -> Result<Home> {
    Ok(register_files(home, files, ExtensionMode::Rpc)?.0)
}

fn register_files(mut home: Home, files: &[PathBuf], mode: ExtensionMode) -> Result<(Home, RunExtensions)> {
    let mut sources = Vec::new();
    for path in files {
        sources.extend(find(path)?);
    }
    if sources.is_empty() {
        return Ok((home, RunExtensions::default()));
    }
    let options = ExtensionOptions {
        catalog: Box::new(sources),
        launcher: ExtensionLauncher::Program((home.host.launcher)()),
        mode,
        data_folder: home.folder.join("extension-data"),
        protected: home.protected_from_extensions(),
        variables: home.command_variables(),
    };
    let host = ExtensionHost::new(options);
    let hooks = Arc::new(Hooks::new(vec![host.registered()]));
    home.engine = home.engine.with_config(EngineConfig { hooks, ..home.engine.config().clone() });
    Ok((home, RunExtensions(Some(host))))
}

fn find(path: &Path) -> Result<Vec<ExtensionSource>> {
    let path = home::cwd()?.join(path);
    let files = entry_files(&path);
    if files.is_empty() {
        let name = sanitize_line(&path.to_string_lossy());
        return Err(usage_error(format!("-e {name}: no extension there; name a .ts or .js file")));
    }
    let origin = ExtensionOrigin::CommandLine;
    let grants: Grants = Grant::ALL.into_iter().collect();
    Ok(files.into_iter().map(|path| ExtensionSource { path, origin, grants: grants.clone() }).collect())
}

fn mode(args: &Args) -> ExtensionMode {
    match args.front_end() {
        FrontEnd::Terminal => ExtensionMode::Terminal,
        FrontEnd::Rpc => ExtensionMode::Rpc,
        FrontEnd::Print(OutputMode::Json) => ExtensionMode::Json,
        FrontEnd::Print(_) => ExtensionMode::Print,
    }
}
