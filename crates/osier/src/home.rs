//! The process and its environment: variables, folders, the terminal. No other module reads environment variables.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use etcetera::BaseStrategy;
use jiff::tz::TimeZone;
pub(crate) use osier_settings::{CliOverrides, Home};
use osier_settings::{HostEnvironment, LoadedSettings, SettingsProblem, notices};

use crate::output_writer::notice;

/// What is configured for the current directory. Fails on an invalid settings file.
pub(crate) fn find() -> Result<Home> {
    check(load_unchecked(&cwd()?)?)
}

/// What is configured for a directory, with all problems of the settings, fatal ones too.
pub(crate) fn load_unchecked(cwd: &Path) -> Result<(Home, LoadedSettings)> {
    Ok(Home::load(cwd, host_environment()?))
}

fn check((home, loaded): (Home, LoadedSettings)) -> Result<Home> {
    home.check_problems(&loaded.problems)?;
    warn_about(&home, &loaded.problems);
    Ok(home)
}

/// Prints the problems, only the first ones if there are many.
pub(crate) fn warn_about(home: &Home, problems: &[SettingsProblem]) {
    for text in notices::problem_notices(home, problems) {
        notice(&format!("osier: {text}"));
    }
}

fn host_environment() -> Result<HostEnvironment> {
    let user = etcetera::choose_base_strategy().ok().map(|user| user.home_dir().to_owned());
    let folder = match (non_empty_var("OSIER_HOME"), &user) {
        (Some(folder), _) => std::path::absolute(folder)?,
        (None, user) => user.as_ref().context("no home folder; set OSIER_HOME")?.join(".osier"),
    };
    Ok(HostEnvironment {
        folder,
        user: user.map(|user| user.to_string_lossy().into_owned()),
        variable: |name| std::env::var(name).ok(),
        variables: || std::env::vars_os().collect(),
        utc_offset,
        host_name: || rustix::system::uname().nodename().to_string_lossy().into_owned(),
        launcher,
    })
}

/// This executable, even if its file was replaced after the start.
fn launcher() -> PathBuf {
    match cfg!(target_os = "linux") {
        true => PathBuf::from("/proc/self/exe"),
        false => std::env::current_exe().unwrap_or_else(|_| PathBuf::from("osier")),
    }
}

/// The current directory.
pub(crate) fn cwd() -> Result<PathBuf> {
    std::env::current_dir().context("the current directory no longer exists; change to another one")
}

/// An environment variable, if it is not empty.
fn non_empty_var(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The value of an environment variable. Not for secrets.
pub(crate) fn env_var(name: &str) -> Option<String> {
    non_empty_var(name).and_then(|value| value.into_string().ok())
}

/// Whether an environment variable is set. Its value may be a secret.
pub(crate) fn has_env_var(name: &str) -> bool {
    non_empty_var(name).is_some()
}

pub(crate) fn is_dumb_terminal() -> bool {
    non_empty_var("TERM").is_some_and(|term| term == "dumb")
}

/// How many seconds the user's clock is ahead of UTC.
pub(crate) fn utc_offset() -> i64 {
    // `TimeZone::system` reads the names of all time zones first, which takes longer than drawing a screen.
    let local = || TimeZone::tzif("", &std::fs::read("/etc/localtime").ok()?).ok();
    let zone = if has_env_var("TZ") { None } else { local() };
    let offset = zone.unwrap_or_else(TimeZone::system).to_offset(jiff::Timestamp::now());
    i64::from(offset.seconds())
}

/// Whether to use colors: on a terminal, unless `NO_COLOR` is set.
pub(crate) fn wants_color() -> bool {
    non_empty_var("NO_COLOR").is_none() && !is_dumb_terminal() && std::io::stdout().is_terminal()
}

/// Whether to show progress: standard error is a terminal.
pub(crate) fn wants_progress() -> bool {
    !is_dumb_terminal() && std::io::stderr().is_terminal()
}

/// The number of columns; `None` without a terminal.
pub(crate) fn columns() -> Option<usize> {
    let configured = non_empty_var("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
    let real = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    configured.or_else(real).filter(|columns| *columns > 0)
}

/// The terminal of standard output.
#[derive(Debug)]
pub(crate) struct TerminalInfo {
    /// Columns and rows, if known.
    pub(crate) size: Option<(usize, usize)>,
    pub(crate) term: String,
    pub(crate) colors: &'static str,
    /// The locale uses UTF-8.
    pub(crate) utf8: bool,
}

pub(crate) fn terminal_info() -> Option<TerminalInfo> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let size = terminal_size::terminal_size_of(&out).map(|(width, height)| (width.0.into(), height.0.into()));
    let text =
        |name| non_empty_var(name).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
    let term = text("TERM");
    let language = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().map(text).find(|value| !value.is_empty());
    let language = language.unwrap_or_default().to_lowercase().replace('-', "");
    let colours = match text("COLORTERM").as_str() {
        _ if !wants_color() => "no colors",
        "truecolor" | "24bit" => "true color",
        _ if term.contains("256color") => "256 colors",
        _ => "16 colors",
    };
    Some(TerminalInfo { size, term, colors: colours, utf8: language.contains("utf8") })
}

/// Finds a program in `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = non_empty_var("PATH")?;
    let places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places
        .into_iter()
        .find(|file| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file())
}
