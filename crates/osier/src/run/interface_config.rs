//! The theme and the configuration of the terminal interface, from the settings and the environment.

use std::path::Path;

use osier_protocol::SessionInfo;
use osier_settings::themes;
use osier_tui::state::UiConfig;
use osier_tui::theme::{Theme, detect_color_depth, detect_light_background};

use crate::home::{self, Home};
use crate::layout::sanitize_line;

pub(super) fn load_theme(home: &Home) -> Theme {
    let [none, term, many, ground] = ["NO_COLOR", "TERM", "COLORTERM", "COLORFGBG"].map(home::env_var);
    let by_background =
        || if detect_light_background(ground.as_deref()) { Theme::light() } else { Theme::dark() };
    let theme = themes::load(home).theme.unwrap_or_else(by_background);
    theme.with_color_depth(detect_color_depth(none.as_deref(), term.as_deref(), many.as_deref()))
}

/// Whether to ask the terminal for its background color: the user did not choose a theme. The Linux console prints the
/// question instead of answering it.
pub(super) fn asks_background(home: &Home) -> bool {
    themes::load(home).theme.is_none() && home::env_var("TERM").is_none_or(|term| term != "linux")
}

/// The configuration of the interface for a session.
pub(super) fn ui_config(home: &Home, session: &SessionInfo, gateway: Option<&str>) -> UiConfig {
    let screen = &home.settings.screen;
    UiConfig {
        directory: sanitize_line(&home.display_path(Path::new(&session.cwd))),
        gateway: gateway.map(sanitize_line),
        home: home.user.clone(),
        double_escape: screen.double_escape,
        tree_filter: screen.tree_filter,
        active_first: screen.active_first,
        tree_style: screen.tree_style,
        notify: screen.notify,
        keys: screen.keys.clone(),
        utc_offset: i32::try_from((home.host.utc_offset)()).unwrap_or(0),
        never_summarize: !screen.ask_summary,
        cwd: session.cwd.clone(),
        welcome: welcome_lines(session),
    }
}

/// The welcome text of an empty session: three lines that fit a terminal of 80 columns. Keys and commands stand in backticks.
fn welcome_lines(session: &SessionInfo) -> Vec<String> {
    let model = sanitize_line(&session.model).replace('`', "'");
    let mut lines = match session.is_offline_only {
        true => vec![
            "Osier with its built-in model: no key needed, simple requests only.".to_owned(),
            "For a real model, set `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY`.".to_owned(),
        ],
        false => vec![
            format!("Osier with {model}. Say what you want done; `esc` stops it."),
            "Nothing is lost: `alt+t` opens the tree of the session, `enter` returns to an entry.".to_owned(),
        ],
    };
    lines.push(
        "`/tour` shows what the tree can do in two minutes, `/help` lists commands and keys.".to_owned(),
    );
    lines
}
