//! Images from the clipboard, and images whose plain path is in a prompt, as a file manager pastes it. They are sent along
//! with the unchanged text. The agent attaches files named with `@file`.

use std::process::Stdio;
use std::time::Duration;

use base64::Engine;
use osier_protocol::Image;
use tokio::process::Command;

use crate::host::Host;

const EXTENSIONS: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

/// Programs that print the clipboard's image: Wayland, X11, macOS.
const CLIPBOARD_COMMANDS: [&[&str]; 3] = [
    &["wl-paste", "--type", "image/png"],
    &["xclip", "-selection", "clipboard", "-target", "image/png", "-o"],
    &["pngpaste", "-"],
];
/// How long one of them may take. They hang if the owner of the clipboard hangs.
const CLIPBOARD_TIMEOUT: Duration = Duration::from_secs(3);
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The images whose paths are in a prompt.
pub(super) async fn images_in_prompt(text: &str, host: &dyn Host) -> Vec<Image> {
    let mut images = Vec::new();
    for path in image_paths(text) {
        images.extend(host.read_image(path).await);
    }
    images
}

/// The image in the clipboard, if there is one and a program can read it.
pub(super) async fn from_clipboard() -> Option<Image> {
    for line in CLIPBOARD_COMMANDS {
        let mut command = Command::new(line[0]);
        command.args(&line[1..]).stdin(Stdio::null()).kill_on_drop(true);
        if let Ok(Ok(output)) = tokio::time::timeout(CLIPBOARD_TIMEOUT, command.output()).await
            && output.stdout.starts_with(PNG_SIGNATURE)
        {
            let data = base64::engine::general_purpose::STANDARD.encode(output.stdout);
            return Some(Image { data, mime_type: "image/png".to_owned() });
        }
    }
    None
}

fn image_paths(text: &str) -> Vec<&str> {
    let words = text.split_whitespace().map(|word| word.trim_matches(['\'', '"', ',', '(', ')']));
    let is_image = |word: &&str| EXTENSIONS.iter().any(|ending| word.to_lowercase().ends_with(ending));
    let is_path = |word: &&str| word.contains('/') && !word.starts_with('@');
    words.filter(is_image).filter(is_path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_paths_with_an_image_extension_are_read() {
        assert_eq!(image_paths("see @x/a.png, './b.JPG' and c.png at http x/y.txt"), ["./b.JPG"]);
    }
}
