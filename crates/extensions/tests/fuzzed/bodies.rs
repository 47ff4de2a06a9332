//! What the fuzz target checks. The tests call it with random input.

use osier_extensions::frame::{Frame, MAX_FRAME};

/// Any bytes are frames or refused, and a frame stays the same when it is written and read again.
pub(crate) fn extension_frame(data: &[u8]) {
    let mut input = data;
    while let Ok(Some(frame)) = Frame::read(&mut input) {
        let line = frame.to_line();
        assert!(line.len() <= MAX_FRAME + 1);
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "one line");
        let again = Frame::parse(line.strip_suffix(b"\n").expect("a line")).expect("its own line");
        assert_eq!(again.to_line(), line);
    }
}
