//! Names the log file.

use osier_settings::logging::log_file;

use super::DoctorCheck;
use crate::home::Home;

const AREA: &str = "log";

pub(super) fn check(home: &Home) -> DoctorCheck {
    let file = log_file(home);
    let display_path = home.display_path(&file);
    match file.metadata() {
        Ok(found) => DoctorCheck::ok(AREA, format!("{display_path}, {} kB", found.len().div_ceil(1000))),
        Err(_) => DoctorCheck::ok(AREA, format!("{display_path}, not needed so far; --verbose logs more")),
    }
}
