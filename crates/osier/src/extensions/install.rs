//! Installs packages with npm and git. Scripts of packages do not run unless the user wants that.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use osier_settings::extensions::{PackageContents, PackageRecord, PackageSource};

use crate::failure::fail;
use crate::home::{self, Home};
use crate::layout::sanitize_line;

/// Installs a package, or its newest version. Returns its folder.
pub(super) fn install(source: &PackageSource, home: &Home, scripts: bool) -> Result<PathBuf> {
    let folder = source.folder_name().map(|name| packages(home).join(name));
    install_in(source, folder, scripts)
}

fn install_in(source: &PackageSource, folder: Option<PathBuf>, scripts: bool) -> Result<PathBuf> {
    match (source, folder) {
        (PackageSource::Npm { name, version }, Some(folder)) => {
            install_npm(name, version.as_deref(), &folder, scripts)
        }
        (PackageSource::Git { url, reference }, Some(folder)) => {
            install_git(url, reference.as_deref(), &folder, scripts)
        }
        (PackageSource::Path(path), _) => {
            let path = home::cwd()?.join(path);
            path.canonicalize()
                .with_context(|| format!("cannot find {}", sanitize_line(&path.to_string_lossy())))
        }
        _ => bail!("the package has no folder"),
    }
}

/// The folder of a package for `-e`: that of the package that was added, if it fits, or one of its own for this source and version,
/// in which it is installed once. The packages that were added, and other runs, keep theirs.
pub(super) fn find_or_install(source: &PackageSource, home: &Home) -> Result<PathBuf> {
    let folder = |name: Option<PathBuf>| name.map(|name| packages(home).join(name));
    let (added, own) = (folder(source.folder_name()), folder(source.run_folder_name()));
    let fits = |folder: &PathBuf, is_own: bool| match source {
        PackageSource::Npm { name, version } => {
            let folder = folder.join("node_modules").join(name);
            let known = PackageContents::read(&folder).version;
            (known.is_some() && (is_own || version.is_none() || *version == known)).then_some(folder)
        }
        PackageSource::Git { reference, .. } => {
            Some(folder.clone()).filter(|folder| (is_own || reference.is_none()) && folder.is_dir())
        }
        PackageSource::Path(_) => None,
    };
    let found = added.and_then(|folder| fits(&folder, false));
    let found = found.or_else(|| own.as_ref().and_then(|folder| fits(folder, true)));
    found.map_or_else(|| install_in(source, own, false), Ok)
}

fn packages(home: &Home) -> PathBuf {
    home.folder.join("packages")
}

/// Deletes what was installed. A package that was added by its path stays where it is.
pub(super) fn remove(package: &PackageRecord, home: &Home) -> Result<()> {
    let Ok(below) = package.folder.strip_prefix(packages(home)) else { return Ok(()) };
    // The folder of an npm package is in the `node_modules` of the installation.
    let installed: PathBuf = below.components().take(2).collect();
    match std::fs::remove_dir_all(packages(home).join(installed)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn install_npm(name: &str, version: Option<&str>, folder: &Path, scripts: bool) -> Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("package.json"), "{ \"private\": true }\n")?;
    let spec = format!("{name}@{}", version.unwrap_or("latest"));
    // Nested: an extension loads only modules in its own folder.
    run(npm(folder, scripts).args(["install", "--install-strategy=nested", &spec]), "npm")?;
    Ok(folder.join("node_modules").join(name))
}

fn install_git(url: &str, reference: Option<&str>, folder: &Path, scripts: bool) -> Result<PathBuf> {
    let parent = folder.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent)?;
    let fresh = tempfile::Builder::new().prefix(".new-").tempdir_in(parent)?;
    let clone = fresh.path().join("clone");
    let mut command = Command::new("git");
    command.args(["clone", "--quiet", "--depth", "1"]);
    if let Some(reference) = reference {
        command.args(["--branch", reference]);
    }
    run(command.arg("--").arg(url).arg(&clone), "git")?;
    let manifest = std::fs::read_to_string(clone.join("package.json")).unwrap_or_default();
    if manifest.contains("\"dependencies\"") {
        run(npm(&clone, scripts).arg("install"), "npm")?;
    }
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::rename(&clone, folder)?;
    Ok(folder.to_owned())
}

/// npm without its questions. Peers are what Osier provides.
fn npm(folder: &Path, scripts: bool) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder).args(["--no-audit", "--no-fund", "--omit=dev", "--legacy-peer-deps"]);
    command.arg("--loglevel=error");
    if !scripts {
        command.arg("--ignore-scripts");
    }
    command
}

fn run(command: &mut Command, program: &str) -> Result<()> {
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            fail!(Failed, "cannot find the program {program}; install it first")
        }
        Err(error) => return Err(error.into()),
    };
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<String> =
        text.lines().filter(|line| !line.trim().is_empty()).take(5).map(sanitize_line_owned).collect();
    fail!(Failed, "{program} failed: {}", lines.join("; "))
}

fn sanitize_line_owned(line: &str) -> String {
    sanitize_line(line)
}
