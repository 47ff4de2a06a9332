//! The settings of the sandbox.

use osier_tools::sandbox::NetworkAccess;

use super::SettingsLayers;

#[derive(Debug, Clone)]
pub struct SandboxSettings {
    pub when: SandboxWhen,
    /// Commands that the user types after `!` are confined too.
    pub user_commands: bool,
    pub write: Vec<String>,
    pub hide: Vec<String>,
    /// Paths that are readable although they are hidden by default.
    pub show: Vec<String>,
    pub network: NetworkAccess,
    pub unix_sockets: bool,
}

/// When commands run in the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxWhen {
    /// In every approval mode except `yolo`.
    Always,
    /// Only in the approval mode `sandbox`.
    Mode,
    Never,
}

impl SandboxSettings {
    pub(crate) fn from_layers(layers: &SettingsLayers) -> SandboxSettings {
        let texts = |key: &str| layers.texts(key).unwrap_or_default();
        SandboxSettings {
            when: match layers.text("sandbox.when").as_deref() {
                Some("mode") => SandboxWhen::Mode,
                Some("never") => SandboxWhen::Never,
                _ => SandboxWhen::Always,
            },
            user_commands: layers.bool("sandbox.user_commands").unwrap_or(false),
            write: texts("sandbox.write"),
            hide: texts("sandbox.hide"),
            show: texts("sandbox.show"),
            network: match layers.text("sandbox.network").as_deref() {
                Some("all") => NetworkAccess::All,
                Some("ports") => NetworkAccess::Ports(layers.counts("sandbox.ports")),
                _ => NetworkAccess::Off,
            },
            unix_sockets: layers.bool("sandbox.unix_sockets").unwrap_or(false),
        }
    }
}
