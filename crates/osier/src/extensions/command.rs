//! `osier extensions`: lists, adds and removes extensions, and asks what they may do.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Subcommand;
use osier_extensions::{
    ExtensionManifest, ExtensionOrigin, ExtensionSource, GrantDecision, inspect_in_process,
};
use osier_protocol::visible_line;
use osier_settings::extensions::{ExtensionRecords, PackageContents, PackageRecord, PackageSource};
use serde::Serialize;

use super::{install, launcher};
use crate::confirm::confirm;
use crate::failure::{fail, usage_error};
use crate::home::{self, Home};
use crate::layout::{pad_right, sanitize_line, width};
use crate::output_writer::{OutputWriter, TextStyle, notice};
use crate::trust;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier extensions list
  osier extensions add ./my-extension
  osier extensions add npm:NAME@VERSION
  osier extensions add git:HOST/USER/REPOSITORY@TAG
  osier extensions info my-extension
  osier extensions disable my-extension

Extensions are .ts and .js files in $OSIER_HOME/extensions and in .osier/extensions of a trusted project, and packages.
An extension that uses files, programs, the network or environment variables is loaded only after you allowed that;
if its code changes, Osier asks again.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ExtensionsCommand,
}

#[derive(Debug, Subcommand)]
enum ExtensionsCommand {
    /// List extensions and packages
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what an extension needs, and where its code uses it, also of a file that is not installed; runs nothing
    Info {
        /// Name, file or folder
        name: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the types of the API for TypeScript: save them as osier.d.ts beside your extension
    Types,
    /// Install a package: npm:NAME, git:URL, or the path of a file or folder
    Add {
        source: String,
        /// Allow what it needs without the question
        #[arg(long, short)]
        yes: bool,
        /// Let npm run the scripts of packages; they have your rights
        #[arg(long, overrides_with = "ignore_scripts")]
        scripts: bool,
        /// Let npm run no scripts of packages, which is the default
        #[arg(long)]
        ignore_scripts: bool,
    },
    /// Install packages again in their newest version; all by default
    Update {
        /// Name or source
        name: Option<String>,
        /// Allow what it needs without the question
        #[arg(long, short)]
        yes: bool,
        /// Let npm run the scripts of packages; they have your rights
        #[arg(long, overrides_with = "ignore_scripts")]
        scripts: bool,
        /// Let npm run no scripts of packages, which is the default
        #[arg(long)]
        ignore_scripts: bool,
    },
    /// Load an extension or package again, and allow what it needs
    Enable {
        /// Name, source or file
        name: String,
        /// Allow what it needs without the question
        #[arg(long, short)]
        yes: bool,
    },
    /// Do not load an extension or package
    Disable {
        /// Name, source or file
        name: String,
    },
    /// Remove a package
    Remove {
        /// Name or source
        name: String,
    },
}

pub(crate) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    match args.command {
        ExtensionsCommand::Types => {
            let mut out = OutputWriter::new();
            out.raw(osier_extensions::TYPES.as_bytes())?;
            out.finish()
        }
        ExtensionsCommand::List { json } => list(json, &home).await,
        ExtensionsCommand::Info { name, json } => info(&name, json, &home).await,
        ExtensionsCommand::Add { source, yes, scripts, .. } => add(&source, yes, scripts, &home).await,
        ExtensionsCommand::Update { name, yes, scripts, .. } => {
            update(name.as_deref(), yes, scripts, &home).await
        }
        ExtensionsCommand::Enable { name, yes } => enable(&name, yes, &home).await,
        ExtensionsCommand::Disable { name } => disable(&name, &home),
        ExtensionsCommand::Remove { name } => remove(&name, &home),
    }
}

/// An extension with everything that is known about it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExtensionRow {
    name: String,
    path: PathBuf,
    origin: &'static str,
    state: &'static str,
    #[serde(flatten)]
    manifest: Option<ExtensionManifest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl ExtensionRow {
    async fn new(source: ExtensionSource, is_on: bool, home: &Home) -> ExtensionRow {
        let inspected = inspect_in_process(&launcher(home), &source.path).await;
        let state = match &inspected {
            _ if !is_on => "off",
            Err(_) => "broken",
            Ok(manifest) => match home.extension_decision(&source, manifest) {
                GrantDecision::Allowed if manifest.needs.is_empty() => "on",
                GrantDecision::Allowed => "allowed",
                GrantDecision::Refused => "refused",
                GrantDecision::Undecided => "not allowed yet",
                GrantDecision::Changed => "changed",
            },
        };
        let origin = match source.origin {
            ExtensionOrigin::CommandLine => "command line",
            ExtensionOrigin::User => "user",
            ExtensionOrigin::Project => "project",
        };
        let (manifest, error) = match inspected {
            Ok(manifest) => (Some(manifest), None),
            Err(error) => (None, Some(error)),
        };
        ExtensionRow { name: extension_name(&source.path), path: source.path, origin, state, manifest, error }
    }

    /// A file that `-e` could load. Nothing of it runs.
    async fn not_installed(path: PathBuf, home: &Home) -> ExtensionRow {
        let source = ExtensionSource { path, origin: ExtensionOrigin::CommandLine };
        let row = ExtensionRow::new(source, true, home).await;
        let state = if row.error.is_some() { row.state } else { "not installed" };
        ExtensionRow { origin: "not installed", state, ..row }
    }

    fn summary(&self) -> String {
        let needs = self.manifest.as_ref().map(ExtensionManifest::description);
        match (&self.error, needs.as_deref()) {
            (Some(error), _) => error.clone(),
            (None, Some("") | None) => "needs nothing".to_owned(),
            (None, Some(needs)) => needs.to_owned(),
        }
    }
}

/// The name of a file without its extension; for `index.ts` that of its folder.
fn extension_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let parent = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    if stem == "index" { parent.unwrap_or(stem) } else { stem }
}

async fn list(json: bool, home: &Home) -> Result<ExitCode> {
    trust::print_untrusted(home);
    let mut rows = Vec::new();
    for (source, is_on) in home.found_extensions() {
        rows.push(ExtensionRow::new(source, is_on, home).await);
    }
    let (records, problem) = ExtensionRecords::load_or_default(&home.folder);
    problem.iter().for_each(|problem| notice(&sanitize_line(&format!("osier: {problem}"))));
    let mut out = OutputWriter::new();
    if json {
        out.json(&serde_json::json!({ "extensions": rows, "packages": records.packages }))?;
        return out.finish();
    }
    let longest = rows.iter().map(|row| width(&row.name)).max().unwrap_or(0);
    for row in &rows {
        let name = pad_right(&sanitize_line(&row.name), longest);
        out.line(&format!("{name}  {}  {}", pad_right(row.state, 15), sanitize_line(&row.summary())))?;
        let path = sanitize_line(&home.display_path(&row.path));
        let indent = " ".repeat(longest + 2);
        out.line(&out.paint(TextStyle::Dim, &format!("{indent}{} · {path}", row.origin)))?;
    }
    for package in &records.packages {
        let state = if package.enabled { "" } else { " (off)" };
        out.line(&sanitize_line(&format!("package {}{state}", package.source)))?;
    }
    if rows.is_empty() && records.packages.is_empty() {
        notice("no extensions");
    }
    out.finish()
}

async fn info(name: &str, json: bool, home: &Home) -> Result<ExitCode> {
    let mut rows = Vec::new();
    match find_extensions(name, home) {
        Ok(found) => {
            for (source, is_on) in found {
                rows.push(ExtensionRow::new(source, is_on, home).await);
            }
        }
        Err(unknown) => {
            let files = PackageContents::read(&home::cwd()?.join(name)).extensions;
            if files.is_empty() {
                return Err(unknown);
            }
            for path in files {
                rows.push(ExtensionRow::not_installed(path, home).await);
            }
        }
    }
    let mut out = OutputWriter::new();
    if json {
        out.json(&rows)?;
        return out.finish();
    }
    for row in &rows {
        out.line(&sanitize_line(&format!("{}: {}", row.name, row.state)))?;
        out.line(&format!("  file    {}", sanitize_line(&home.display_path(&row.path))))?;
        out.line(&format!("  origin  {}", row.origin))?;
        for line in row.manifest.as_ref().map(needs_lines).unwrap_or_default() {
            out.line(&line)?;
        }
        if row.manifest.as_ref().is_none_or(|manifest| manifest.needs.is_empty()) {
            out.line(&format!("  {}", sanitize_line(&row.summary())))?;
        }
    }
    out.finish()
}

/// One line per need, with where it was found.
fn needs_lines(manifest: &ExtensionManifest) -> Vec<String> {
    let line = |(grant, place): (&osier_extensions::Grant, &String)| {
        format!("  {} ({})", grant.description(), visible_line(place))
    };
    manifest.needs.iter().map(line).collect()
}

/// The extensions that a name means: a file, the name of an extension, or all of a package.
fn find_extensions(name: &str, home: &Home) -> Result<Vec<(ExtensionSource, bool)>> {
    let path = home::cwd()?.join(name).canonicalize().ok();
    let found = home.found_extensions();
    let package = find_package(name, home).map(|package| package.folder);
    let is_meant = |source: &ExtensionSource| {
        let real = source.path.canonicalize().ok();
        extension_name(&source.path) == name
            || path.as_ref().is_some_and(|path| real.as_ref().is_some_and(|real| real.starts_with(path)))
            || package.as_ref().is_some_and(|folder| source.path.starts_with(folder))
    };
    let meant: Vec<_> = found.into_iter().filter(|(source, _)| is_meant(source)).collect();
    match meant.is_empty() {
        false => Ok(meant),
        true => fail!(Failed, "no extension {}; `osier extensions list` lists all", sanitize_line(name)),
    }
}

fn find_package(name: &str, home: &Home) -> Option<PackageRecord> {
    let records = ExtensionRecords::load_or_default(&home.folder).0;
    records.packages.into_iter().find(|package| is_package(package, name))
}

fn is_package(package: &PackageRecord, name: &str) -> bool {
    let contents = || PackageContents::read(&package.folder);
    package.source == name
        || Path::new(name).canonicalize().is_ok_and(|path| path == package.folder)
        || contents().name.as_deref() == Some(name)
        || package.folder.file_name().is_some_and(|folder| folder == name)
        // A file that was added has the name of its extension.
        || (!package.folder.is_dir() && extension_name(&package.folder) == name)
}

async fn add(source: &str, yes: bool, scripts: bool, home: &Home) -> Result<ExitCode> {
    let Some(parsed) = PackageSource::parse(source) else {
        return Err(usage_error(format!(
            "{}: name a package as npm:NAME, git:URL, or the path of a file or folder",
            sanitize_line(source)
        )));
    };
    if is_archive(&parsed) {
        let (source, unpack) =
            (sanitize_line(source), "unpack it with `tar -xzf`, and add its folder `package`");
        fail!(
            Failed,
            "cannot add {source}: it is an archive; {unpack}, or name it as npm:NAME if it is published"
        );
    }
    let folder = install::install(&parsed, home, scripts)?;
    let contents = PackageContents::read(&folder);
    if contents
        == (PackageContents {
            name: contents.name.clone(),
            version: contents.version.clone(),
            ..PackageContents::default()
        })
    {
        bail!("{} contains no extensions, skills or prompts", sanitize_line(source));
    }
    let source = match &parsed {
        PackageSource::Path(_) => folder.to_string_lossy().into_owned(),
        _ => source.to_owned(),
    };
    let record = PackageRecord { source: source.clone(), folder: folder.clone(), enabled: true };
    ExtensionRecords::update(&home.folder, |records| {
        records.packages.retain(|package| package.folder != folder);
        records.packages.push(record);
    })?;
    let mut out = OutputWriter::new();
    out.line(&sanitize_line(&format!("Added {source}")))?;
    out.finish()?;
    allow_all(&contents.extensions, yes, home).await?;
    Ok(ExitCode::SUCCESS)
}

/// Whether it is a file as `npm pack` writes it.
fn is_archive(source: &PackageSource) -> bool {
    let PackageSource::Path(path) = source else { return false };
    let name = path.to_string_lossy();
    path.is_file() && [".tgz", ".tar.gz", ".tar"].iter().any(|end| name.ends_with(end))
}

async fn update(name: Option<&str>, yes: bool, scripts: bool, home: &Home) -> Result<ExitCode> {
    let records = ExtensionRecords::load_or_default(&home.folder).0;
    let packages: Vec<PackageRecord> = records
        .packages
        .into_iter()
        .filter(|package| name.is_none_or(|name| is_package(package, name)))
        .collect();
    if let Some(name) = name.filter(|_| packages.is_empty()) {
        fail!(Failed, "no package {}; `osier extensions list` lists all", sanitize_line(name));
    }
    for package in packages {
        if let Some(source) = PackageSource::parse(&package.source) {
            install::install(&source, home, scripts)?;
            let mut out = OutputWriter::new();
            out.line(&sanitize_line(&format!("Updated {}", package.source)))?;
            out.finish()?;
            allow_all(&PackageContents::read(&package.folder).extensions, yes, home).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn enable(name: &str, yes: bool, home: &Home) -> Result<ExitCode> {
    ExtensionRecords::update(&home.folder, |records| {
        for package in records.packages.iter_mut().filter(|package| is_package(package, name)) {
            package.enabled = true;
        }
    })?;
    let paths: Vec<PathBuf> =
        find_extensions(name, home)?.into_iter().map(|(source, _)| source.path).collect();
    ExtensionRecords::update(&home.folder, |records| records.disabled.retain(|path| !paths.contains(path)))?;
    allow_all(&paths, yes, home).await?;
    Ok(ExitCode::SUCCESS)
}

/// Asks about each extension that needs something and is not allowed.
async fn allow_all(paths: &[PathBuf], yes: bool, home: &Home) -> Result<()> {
    for path in paths {
        let source = ExtensionSource { path: path.clone(), origin: ExtensionOrigin::User };
        let name = sanitize_line(&extension_name(path));
        let manifest = match inspect_in_process(&launcher(home), path).await {
            Ok(manifest) => manifest,
            Err(error) => {
                notice(&sanitize_line(&format!("{name} cannot be loaded: {error}")));
                continue;
            }
        };
        if home.extension_decision(&source, &manifest) == GrantDecision::Allowed {
            notice(&format!("{name} is on"));
            continue;
        }
        notice(&format!("{name}:\n{}", needs_lines(&manifest).join("\n")));
        let command = format!("osier extensions enable {} --yes", sanitize_line(&path.to_string_lossy()));
        let allowed = yes
            || confirm(
                &format!("Allow {name}?"),
                &format!("cannot ask without a terminal; to allow it, run `{command}`"),
            )?;
        ExtensionRecords::update(&home.folder, |records| records.decide(path, &manifest, allowed))?;
        notice(&format!("{name} is {}", if allowed { "allowed" } else { "refused" }));
    }
    Ok(())
}

fn disable(name: &str, home: &Home) -> Result<ExitCode> {
    let is_changed = ExtensionRecords::update(&home.folder, |records| {
        let mut packages = records.packages.iter_mut().filter(|package| is_package(package, name)).peekable();
        let is_changed = packages.peek().is_some();
        packages.for_each(|package| package.enabled = false);
        is_changed
    })?;
    if !is_changed {
        let found = find_extensions(name, home)?;
        ExtensionRecords::update(&home.folder, |records| {
            records.disabled.extend(found.into_iter().map(|(source, _)| source.path));
        })?;
    }
    notice(&sanitize_line(&format!("{name} is off")));
    Ok(ExitCode::SUCCESS)
}

fn remove(name: &str, home: &Home) -> Result<ExitCode> {
    let Some(package) = find_package(name, home) else {
        fail!(Failed, "no package {}; `osier extensions list` lists all", sanitize_line(name));
    };
    ExtensionRecords::update(&home.folder, |records| {
        records.packages.retain(|other| other.folder != package.folder);
        records.forget_below(&package.folder);
    })?;
    install::remove(&package, home)?;
    notice(&sanitize_line(&format!("Removed {}", package.source)));
    Ok(ExitCode::SUCCESS)
}
