//! Checks what confines the processes of extensions.

use osier_extensions::{ExtensionLauncher, confinement_in_force};

use super::DoctorCheck;
use crate::home::Home;

const AREA: &str = "extensions";

/// `None` if there are no extensions.
pub(super) async fn check(home: &Home) -> Option<DoctorCheck> {
    if !home.may_have_extensions() {
        return None;
    }
    let launcher = ExtensionLauncher::Program((home.host.launcher)());
    let check = match confinement_in_force(&launcher).await {
        Ok([plain, writing]) if !plain.is_empty() => {
            let text = format!("confined by {}", plain.join(", "));
            match writing.iter().any(|name| name == "mount namespace") {
                true => {
                    DoctorCheck::ok(AREA, format!("{text}; those that write files by {}", writing.join(", ")))
                }
                false => DoctorCheck::warn(
                    AREA,
                    format!("{text}; files of extensions that write files are checked only by Osier"),
                    "allow user namespaces, so that the system hides Osier's files from them too",
                ),
            }
        }
        Ok(_) => DoctorCheck::warn(
            AREA,
            "not confined by the system: only Osier's own checks protect your files",
            "on Linux 6.2 or newer with Landlock, the system confines extensions too",
        ),
        Err(reason) => DoctorCheck::warn(AREA, format!("cannot start: {reason}"), "install Osier again"),
    };
    Some(check)
}
