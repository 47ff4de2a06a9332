//! The properties of readers, for the tests and for the fuzz targets.

use osier_wire::{decode_client_frame, decode_server_frame};

/// Any text is a frame or an error. A frame stays the same when it is written and read again.
pub(crate) fn frame(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(frame) = decode_client_frame(&text) {
        assert_eq!(decode_client_frame(&frame.to_json()).as_ref(), Ok(&frame));
    }
    if let Ok(frame) = decode_server_frame(&text) {
        let written = frame.to_json();
        let again = decode_server_frame(&written).expect("a frame that was written can be read");
        assert_eq!(again.to_json(), written);
    }
}
