//! The user's own editor on a text.

use std::process::Command;

use crate::msg::Msg;

/// Lets the user edit the text; the terminal is the editor's meanwhile.
pub(super) async fn edit(editor: Option<String>, text: String) -> Msg {
    let Some(editor) = editor else {
        return Msg::Failed("no editor is set; set VISUAL or EDITOR".to_owned());
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
        Ok(Ok(text)) => Msg::Text(text),
        Ok(Err(error)) => Msg::Failed(format!("the editor could not be used: {error}")),
        Err(_) => Msg::Failed("the editor could not be used".to_owned()),
    }
}
