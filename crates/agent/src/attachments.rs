//! `@file` in a prompt attaches the file. This works the same for every client: the model gets the file
//! contents before the text of the prompt, and the user sees only the text.

use std::io::ErrorKind;

use osier_model::Image;
use osier_tools::{ResultBlock, ToolCall, ToolContext, ToolSet, Toolbox, read_regular};
use serde_json::json;

/// The model reads longer files in pieces with its own tool.
const MAX_BYTES: u64 = 1 << 20;

/// Punctuation that may follow a file name.
const TRAILING_PUNCTUATION: [char; 11] = [',', '.', ';', ':', '!', '?', ')', ']', '}', '\'', '"'];

/// A file attached to a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Attachment {
    /// The file contents inside a `<file>` tag; the tag is empty for an image.
    pub text: String,
    pub image: Option<Image>,
}

/// Reads a file that a prompt mentions. Returns `None` if no such file exists; the mention is then ordinary
/// text. The error says why the file cannot be attached.
pub async fn read(name: &str, ctx: &ToolContext) -> Result<Option<Attachment>, String> {
    // A folder name stays an ordinary word. A pipe or a device was meant as a file, so the tool reports why it cannot be attached.
    let is_there = |name: &&str| ctx.expand_path(name).is_some_and(|path| path.exists() && !path.is_dir());
    let Some(path) = [name, name.trim_end_matches(TRAILING_PUNCTUATION)].into_iter().find(is_there) else {
        return Ok(None);
    };
    let call = ToolCall { id: String::new(), name: "read".to_owned(), arguments: json!({ "path": path }) };
    // The `read` tool enforces the readable paths, detects images, and reports unsupported files.
    let read = ToolSet::standard().run(call, ctx).await;
    if read.is_error {
        return Err(format!("@{path}: {}", read.plain_text()));
    }
    let image = read.content.into_iter().find_map(|block| match block {
        ResultBlock::Image { data, mime_type } => Some(Image { data, mime_type }),
        _ => None,
    });
    let text = match image {
        Some(_) => format!("<file name=\"{path}\"></file>"),
        None => {
            format!(
                "<file name=\"{path}\">\n{}\n</file>",
                read_text(path, ctx)?.trim_end_matches(['\n', '\r'])
            )
        }
    };
    Ok(Some(Attachment { text, image }))
}

fn read_text(name: &str, ctx: &ToolContext) -> Result<String, String> {
    let path =
        ctx.expand_path(name).ok_or_else(|| format!("cannot read @{name}: the home folder is unknown"))?;
    match read_regular(&path, MAX_BYTES) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => Err(format!(
            "@{name} is longer than 1 MiB; write its name without the @, and the model reads it in pieces"
        )),
        Err(error) => Err(format!("cannot read @{name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_tools::CommandEnv;
    use std::fs;

    #[tokio::test]
    async fn files_are_read_and_other_mentions_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write("a.txt", b"one\ntwo\n");
        write("b.bin", &[0, 159, 146, 150, 0]);
        write("long.txt", &[b'x'; 1 + MAX_BYTES as usize]);
        let ctx = ToolContext::new(folder.path(), folder.path(), CommandEnv::default());
        for name in ["a.txt", "a.txt,", "a.txt)?"] {
            let found = read(name, &ctx).await.unwrap().unwrap();
            assert_eq!(found.text, "<file name=\"a.txt\">\none\ntwo\n</file>", "{name}");
        }
        for name in ["none.txt", "types/node", ".", ""] {
            assert_eq!(read(name, &ctx).await, Ok(None), "{name}");
        }
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("endless")).unwrap();
        for name in ["b.bin", "long.txt", "pipe", "endless"] {
            let error = read(name, &ctx).await.unwrap_err();
            assert!(error.starts_with(&format!("@{name}")), "{error}");
        }
    }
}
