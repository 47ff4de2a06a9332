//! What is said first: the words of the command line, the files they name, and what standard input holds.

use std::fs;
use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, Result};
use osier_agent::Said;
use osier_model::Image;
use osier_tools::{Content, ToolCall, ToolContext, Toolbox, Tools};
use serde_json::json;

use crate::failure::usage;
use crate::progress::waiting;

/// A longer text is better looked at by the model, piece by piece.
const LONGEST: u64 = 1 << 20;

/// The prompt made of `words`. What is piped in stands before them, or where a `-` is.
pub(super) async fn compose(words: &[String], ctx: &ToolContext) -> Result<Said> {
    let piped = match words.iter().any(|word| word == "-") || !std::io::stdin().is_terminal() {
        true => piped()?,
        false => String::new(),
    };
    put_together(words, piped, ctx).await
}

async fn put_together(words: &[String], piped: String, ctx: &ToolContext) -> Result<Said> {
    let mut said = Said::default();
    let mut parts: Vec<String> = Vec::new();
    let (mut spoken, mut piped) = (Vec::new(), Some(piped));
    for word in words {
        match word.strip_prefix('@') {
            Some(path) if !path.is_empty() => parts.push(file(path, ctx, &mut said.images).await?),
            _ if word == "-" => {
                parts.push(std::mem::take(&mut spoken).join(" "));
                parts.extend(piped.take());
            }
            _ => spoken.push(word.as_str()),
        }
    }
    parts.splice(0..0, piped.take());
    parts.push(spoken.join(" "));
    parts.retain(|part| !part.trim().is_empty());
    said.text = parts.join("\n\n");
    Ok(said)
}

fn piped() -> Result<String> {
    let _waiting = waiting("reading standard input");
    let mut bytes = Vec::new();
    std::io::stdin().take(LONGEST + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
    if bytes.len() as u64 > LONGEST {
        return Err(usage(
            "standard input is longer than 1 MiB; put it into a file and name it in the prompt",
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned())
}

/// A file as part of a prompt: its text between two lines that name it, or its image beside the text.
async fn file(path: &str, ctx: &ToolContext, images: &mut Vec<Image>) -> Result<String> {
    let arguments = json!({ "path": path });
    let call = ToolCall { id: String::new(), name: "read".to_owned(), arguments };
    // The tool finds the file as it would for the model, knows images, and says what is wrong with the rest.
    let read = Tools::standard().run(call, ctx).await;
    if read.is_error {
        return Err(usage(format!("@{path}: {}", read.plain_text())));
    }
    let before = images.len();
    for block in read.content {
        if let Content::Image { data, mime_type } = block {
            images.push(Image { data, mime_type });
        }
    }
    if images.len() > before {
        return Ok(format!("<file name=\"{path}\"></file>"));
    }
    let text = ctx.path(path).context("`~` is not known here").and_then(|path| whole(&path));
    let text = text.with_context(|| format!("cannot read @{path}"))?;
    Ok(format!("<file name=\"{path}\">\n{}\n</file>", text.trim_end_matches(['\n', '\r'])))
}

fn whole(path: &Path) -> Result<String> {
    if fs::metadata(path)?.len() > LONGEST {
        return Err(usage(
            "it is longer than 1 MiB; name it in the prompt without the @, to be read in pieces",
        ));
    }
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_tools::Env;

    async fn told(words: &[&str], piped: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a.txt"), "one\ntwo\n").expect("a file");
        fs::write(folder.path().join("b.bin"), [0, 159, 146, 150, 0]).expect("a file");
        fs::write(folder.path().join("dot.gif"), GIF).expect("a file");
        fs::create_dir(folder.path().join("home")).expect("a folder");
        fs::write(folder.path().join("home").join("h.txt"), "at home\n").expect("a file");
        let home = folder.path().join("home").into_os_string();
        let ctx = ToolContext::new(folder.path(), folder.path(), Env::new([("HOME".into(), home)]));
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        match put_together(&words, piped.to_owned(), &ctx).await {
            Ok(said) if said.images.is_empty() => said.text,
            Ok(said) => format!("{} + {} {}", said.text, said.images.len(), said.images[0].mime_type),
            Err(error) => format!("! {error}"),
        }
    }

    /// One white point.
    const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

    #[tokio::test]
    async fn words_are_a_sentence_and_a_pipe_stands_before_them() {
        assert_eq!(told(&["explain", "this"], "").await, "explain this");
        assert_eq!(told(&["explain", "this"], "x = 1").await, "x = 1\n\nexplain this");
        assert_eq!(told(&["before", "-", "and", "after"], "x = 1").await, "before\n\nx = 1\n\nand after");
        assert_eq!(told(&[], "only this").await, "only this");
    }

    #[tokio::test]
    async fn files_are_named_and_images_go_beside_the_text() {
        let text = told(&["explain", "@a.txt", "please"], "").await;
        assert_eq!(text, "<file name=\"a.txt\">\none\ntwo\n</file>\n\nexplain please");
        assert_eq!(told(&["@~/h.txt"], "").await, "<file name=\"~/h.txt\">\nat home\n</file>");
        let image = told(&["@dot.gif", "what is it?"], "").await;
        assert!(image.starts_with("<file name=\"dot.gif\"></file>\n\nwhat is it? + 1 image/"), "{image}");
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_said_is_refused_by_name() {
        assert!(told(&["@none.txt"], "").await.starts_with("! @none.txt: "));
        assert!(told(&["@b.bin"], "").await.starts_with("! @b.bin: "));
        assert_eq!(told(&["write", "to", "@"], "").await, "write to @");
    }
}
