//! Tries what a confined process must not be able to do. Osier asks for it to see whether the system refuses it, also if the checks
//! of the runtime library failed.

use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// The files to try.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ProbeParams {
    pub(crate) read: PathBuf,
    pub(crate) write: PathBuf,
}

/// What was possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProbeResult {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) socket: bool,
    pub(crate) program: bool,
}

pub(super) fn probe(params: &ProbeParams) -> ProbeResult {
    let program = Command::new("/bin/true").stdin(Stdio::null()).stdout(Stdio::null()).status();
    ProbeResult {
        read: std::fs::read(&params.read).is_ok(),
        write: std::fs::write(&params.write, "").is_ok(),
        socket: UdpSocket::bind("127.0.0.1:0").is_ok(),
        program: program.is_ok_and(|status| status.success()),
    }
}
