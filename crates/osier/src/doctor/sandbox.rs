//! Can commands be confined, and by what?

use osier_tools::sandbox::Network;

use super::Check;
use crate::home::Home;
use crate::layout::pluralize;
use crate::sandbox;

const AREA: &str = "sandbox";

pub(super) fn check(home: &Home) -> Check {
    let Some(sandbox) = sandbox::from_settings(home) else {
        let advice = "`osier config set sandbox.when always` confines them";
        return Check::warn(AREA, "off: commands can do whatever you can", advice);
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
            "commands are asked about as without a sandbox; Linux 6.2 or newer with Landlock is needed",
        ),
    }
}
