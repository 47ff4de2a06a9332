//! What `process` and `node:os` say about this machine and this program.

use serde_json::{Value, json};

use super::ExtensionLauncher;

/// Nothing of it is secret.
pub(super) fn system_facts(launcher: &ExtensionLauncher) -> Value {
    let system = rustix::system::uname();
    let program = match launcher {
        ExtensionLauncher::Program(program) => program.to_string_lossy().into_owned(),
        #[cfg(test)]
        ExtensionLauncher::Thread => "osier".to_owned(),
    };
    json!({
        "platform": if cfg!(target_os = "macos") { "darwin" } else { "linux" },
        "arch": match std::env::consts::ARCH { "x86_64" => "x64", "aarch64" => "arm64", other => other },
        "release": system.release().to_string_lossy(),
        "hostname": system.nodename().to_string_lossy(),
        "processors": std::thread::available_parallelism().map_or(1, usize::from),
        "pid": std::process::id(),
        "uid": rustix::process::getuid().as_raw(),
        "program": program,
    })
}
