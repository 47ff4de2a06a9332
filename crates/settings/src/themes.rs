//! Themes by name: the built-in ones, and the user's files `themes/NAME.toml` in Osier's home folder.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use osier_tools::read_regular_text;
use osier_tui::theme::Theme;

use crate::home::Home;
use crate::settings::table::closest_name;

/// A theme has a few dozen lines.
const MAX_BYTES: u64 = 256 << 10;

/// Chooses a built-in theme by the background of the terminal.
pub const AUTO: &str = "auto";

/// The result of loading the configured theme.
#[derive(Debug)]
pub struct LoadedTheme {
    /// `None`: choose by the background of the terminal.
    pub theme: Option<Theme>,
    pub problems: Vec<String>,
}

/// The theme that the settings name.
pub fn load(home: &Home) -> LoadedTheme {
    let name = home.settings.screen.theme.as_str();
    if name == AUTO {
        return LoadedTheme { theme: None, problems: Vec::new() };
    }
    match read_theme(name, home) {
        Ok((theme, problems)) => {
            let problems = problems.iter().map(|problem| format!("theme {name}: {problem}")).collect();
            LoadedTheme { theme: Some(theme), problems }
        }
        Err(problem) => LoadedTheme { theme: None, problems: vec![problem] },
    }
}

/// A theme with its problems, or why it cannot be loaded.
pub fn read_theme(name: &str, home: &Home) -> Result<(Theme, Vec<String>), String> {
    // A user's file overrides a built-in theme.
    if let Some(path) = theme_file(name, home) {
        match read_regular_text(&path, MAX_BYTES) {
            Ok(text) => return Ok(Theme::parse(&text)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(format!("cannot read {}: {error}", home.display_path(&path))),
        }
    }
    Theme::builtin(name).map(|theme| (theme, Vec::new())).ok_or_else(|| unknown_theme(name, home))
}

/// All valid names for the setting.
pub fn theme_names(home: &Home) -> Vec<String> {
    let files = fs::read_dir(home.folder.join("themes")).into_iter().flatten().filter_map(Result::ok);
    let name = |file: fs::DirEntry| Some(file.file_name().to_str()?.strip_suffix(".toml")?.to_owned());
    let mut own: Vec<String> = files.filter_map(name).collect();
    own.sort();
    let mut names: Vec<String> =
        std::iter::once(AUTO).chain(Theme::builtin_names()).map(str::to_owned).collect();
    own.retain(|name| !names.contains(name));
    names.extend(own);
    names
}

/// The file of a theme. The name must not be a path, because a project's settings may set it.
fn theme_file(name: &str, home: &Home) -> Option<PathBuf> {
    let is_name = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    is_name.then(|| home.folder.join("themes").join(format!("{name}.toml")))
}

fn unknown_theme(name: &str, home: &Home) -> String {
    let names = theme_names(home);
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let meant = closest_name(name, &known).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
    let folder = home.display_path(&home.folder.join("themes"));
    format!("unknown theme {name}; {meant}themes are {}, and files in {folder}", known.join(", "))
}
