//! Notices about the settings of a directory.

use osier_tree::projection::preview::sanitize_line;

use crate::home::Home;
use crate::settings::SettingsProblem;

/// How many problems are listed: more would bury everything else.
const MAX_PROBLEMS: usize = 8;
/// The longest list of ignored settings, in characters.
const MAX_NAMES: usize = 200;

/// The problems of the settings; only the first ones if there are many.
pub fn problem_notices(home: &Home, problems: &[SettingsProblem]) -> Vec<String> {
    let mut notices: Vec<String> =
        problems.iter().take(MAX_PROBLEMS).map(|problem| home.format_problem(problem)).collect();
    if problems.len() > MAX_PROBLEMS {
        let more = problems.len() - MAX_PROBLEMS;
        notices.push(format!("and {more} more; `osier doctor` lists all of them"));
    }
    notices
}

/// The notice that requests of the project are ignored, if any.
pub fn untrusted_notice(home: &Home) -> Option<String> {
    if let Some(objection) = home.ignored_project() {
        return Some(format!("ignored the .osier folder of this project: {}", sanitize_line(objection)));
    }
    let request = home.trust_request.as_ref().filter(|request| !request.is_trusted())?;
    let names: Vec<&str> = request.items.iter().map(|item| item.name.as_str()).collect();
    Some(format!(
        "{} is not trusted; ignored its settings and folders: {}; run `osier trust` to review them",
        sanitize_line(&home.display_path(&request.root)),
        osier_tree::projection::preview::one_line(&names.join(", "), MAX_NAMES),
    ))
}
