//! Checks whether commands can run in the sandbox.

use osier_tools::sandbox::Network;

use super::Check;
use crate::home::Home;
use crate::layout::pluralize;
use crate::sandbox;

const AREA: &str = "sandbox";

pub(super) fn check(home: &Home) -> Check {
    let Some(sandbox) = sandbox::from_settings(home) else {
        let advice = "run `osier config set sandbox.when always` to confine commands";
        return Check::warn(AREA, "off: commands run with all your permissions", advice);
    };
    let network = match &sandbox.rules.network {
        Network::Off => "network off".to_owned(),
        Network::Ports(ports) => format!("network limited to {}", pluralize(ports.len(), "port", "ports")),
        Network::All => "network on".to_owned(),
    };
    match sandbox.state() {
        Ok(protection) => Check::ok(AREA, format!("{protection}; {network}")),
        Err(reason) => Check::warn(
            AREA,
            format!("not available: {reason}"),
            "Osier asks before commands as if there were no sandbox; the sandbox needs Linux 6.2 or newer with Landlock",
        ),
    }
}
