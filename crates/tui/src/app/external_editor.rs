//! Edits a text in the user's external editor.

use std::process::Command;

use crate::msg::Msg;

/// Runs the editor on the text. The editor owns the terminal until it exits.
pub(super) async fn edit(editor: Option<String>, text: String) -> Msg {
    let Some(editor) = editor else {
        return Msg::Failed("cannot open an editor: none is set; set VISUAL or EDITOR".to_owned());
    };
    let edited = tokio::task::spawn_blocking(move || -> std::io::Result<String> {
        let file = tempfile::Builder::new().prefix("osier-").suffix(".md").tempfile()?;
        std::fs::write(file.path(), &text)?;
        let line = format!("{editor} \"$1\"");
        let status = Command::new("sh").args(["-c", &line, "sh"]).arg(file.path()).status()?;
        match status.success() {
            true => std::fs::read_to_string(file.path()),
            false => Ok(text),
        }
    });
    match edited.await {
        Ok(Ok(text)) => Msg::EditorText(text),
        Ok(Err(error)) => Msg::Failed(format!("cannot run the editor: {error}")),
        Err(_) => Msg::Failed("cannot run the editor: internal error".to_owned()),
    }
}
