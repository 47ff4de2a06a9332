//! The properties of readers, for the tests and for the fuzz targets.

use osier_rpc::check_command;
use serde_json::Value;

/// Any line is a command or refused. A command is an object with a type, and stays one when it is written again.
pub(crate) fn command(data: &[u8]) {
    let line = String::from_utf8_lossy(data);
    if check_command(&line).is_ok() {
        let command: Value = serde_json::from_str(&line).expect("a command is JSON");
        assert!(command["type"].is_string(), "{line}");
        assert_eq!(check_command(&command.to_string()), Ok(()), "{line}");
    }
}
