//! The properties of readers, for the tests and for the fuzz targets.

use futures_util::StreamExt;
use osier_wire::{IncomingFrame, LineSplitter, Transport, decode_client_frame, decode_server_frame};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// The longest line and the longest message, small enough to be exceeded.
const MAX_FRAME: usize = 64;

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

/// Any bytes are lines, however they are cut: the first byte tells into pieces of which size. No line is longer than the limit.
pub(crate) fn lines(data: &[u8]) {
    let Some((size, bytes)) = data.split_first() else { return };
    let (mut whole, mut pieces) = (Vec::new(), Vec::new());
    let mut splitter = LineSplitter::new(MAX_FRAME);
    splitter.push(bytes, |line| whole.push(line));
    whole.extend(splitter.finish());
    let mut splitter = LineSplitter::new(MAX_FRAME);
    for piece in bytes.chunks(usize::from(*size).max(1)) {
        splitter.push(piece, |line| pieces.push(line));
    }
    pieces.extend(splitter.finish());
    assert_eq!(whole, pieces);
    for line in whole {
        if let IncomingFrame::Text(line) = line {
            assert!(line.len() <= MAX_FRAME && !line.contains('\n'));
        }
    }
}

/// Any bytes on a WebSocket are messages, or end it. No message is longer than the limit.
pub(crate) fn web_socket(data: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let incoming: Vec<IncomingFrame> = runtime.block_on(async {
        let socket = tokio::io::join(std::io::Cursor::new(data.to_vec()), tokio::io::sink());
        let limits =
            WebSocketConfig::default().max_message_size(Some(MAX_FRAME)).max_frame_size(Some(MAX_FRAME));
        let socket = WebSocketStream::from_raw_socket(socket, Role::Server, Some(limits)).await;
        Transport::websocket(socket).into_incoming().collect().await
    });
    for frame in incoming {
        if let IncomingFrame::Text(text) = frame {
            assert!(text.len() <= MAX_FRAME);
            let _ = decode_client_frame(&text);
        }
    }
}
