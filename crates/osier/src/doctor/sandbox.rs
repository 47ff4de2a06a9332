//! Checks whether commands can run in the sandbox.

use osier_tools::sandbox::NetworkAccess;

use super::DoctorCheck;
use crate::home::Home;
use crate::layout::pluralize;
use osier_settings::sandbox_rules;

const AREA: &str = "sandbox";

pub(super) fn check(home: &Home) -> DoctorCheck {
    let Some(sandbox) = sandbox_rules::from_settings(home) else {
        let advice = "run `osier config set sandbox.when always` to confine commands";
        return DoctorCheck::warn(AREA, "off: commands run with all your permissions", advice);
    };
    let network = match &sandbox.rules.network {
        NetworkAccess::Off => "network off".to_owned(),
        NetworkAccess::Ports(ports) => {
            format!("network limited to {}", pluralize(ports.len(), "port", "ports"))
        }
        NetworkAccess::All => "network on".to_owned(),
    };
    match sandbox.state() {
        Ok(protection) => DoctorCheck::ok(AREA, format!("{protection}; {network}")),
        Err(reason) => DoctorCheck::warn(
            AREA,
            format!("not available: {reason}"),
            "Osier asks before commands as if there were no sandbox; the sandbox needs Linux 6.2 or newer with Landlock",
        ),
    }
}
