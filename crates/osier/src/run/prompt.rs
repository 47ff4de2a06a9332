//! Builds the prompt from the command line, the files it names, and standard input.

use std::io::{IsTerminal, Read};

use anyhow::{Context, Result};
use osier_engine::{ToolContext, attachments};
use osier_protocol::Prompt;

use crate::failure::usage_error;
use crate::progress::show_progress;

/// Maximum size of standard input.
const MAX_STDIN: u64 = 1 << 20;

/// Builds the prompt from `words`. Piped input goes before them, or in place of `-`.
pub(super) async fn compose_prompt(words: &[String], ctx: &ToolContext) -> Result<Prompt> {
    let piped = match words.iter().any(|word| word == "-") || !std::io::stdin().is_terminal() {
        true => read_stdin()?,
        false => String::new(),
    };
    join_words(words, piped, ctx).await
}

async fn join_words(words: &[String], piped: String, ctx: &ToolContext) -> Result<Prompt> {
    let mut prompt = Prompt::default();
    let mut parts: Vec<String> = Vec::new();
    let (mut texts, mut piped) = (Vec::new(), Some(piped));
    for word in words {
        prompt.files.extend(mentioned_files(word, ctx).await?);
        match word.as_str() {
            "-" => {
                parts.push(std::mem::take(&mut texts).join(" "));
                parts.extend(piped.take());
            }
            word => texts.push(word),
        }
    }
    parts.splice(0..0, piped.take());
    parts.push(texts.join(" "));
    parts.retain(|part| !part.trim().is_empty());
    prompt.text = parts.join("\n\n");
    Ok(prompt)
}

/// The files that a command-line word mentions. A word that is only `@NAME` must name an existing file.
async fn mentioned_files(word: &str, ctx: &ToolContext) -> Result<Vec<String>> {
    let read = async |name: &str| attachments::read(name, ctx).await.map_err(usage_error);
    match word.strip_prefix('@').filter(|name| !name.is_empty()) {
        // Only here can a file name contain spaces.
        Some(name) if read(name).await?.is_some() => Ok(vec![name.to_owned()]),
        Some(name) if !name.contains(char::is_whitespace) => {
            Err(usage_error(format!("@{name}: no such file")))
        }
        _ => {
            let names = osier_protocol::mentioned_files(word);
            for name in &names {
                read(name).await?;
            }
            Ok(names)
        }
    }
}

fn read_stdin() -> Result<String> {
    let _waiting = show_progress("reading standard input");
    let mut bytes = Vec::new();
    std::io::stdin().take(MAX_STDIN + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
    if bytes.len() as u64 > MAX_STDIN {
        return Err(usage_error(
            "standard input is longer than 1 MiB; save it to a file and name the file in the prompt",
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use osier_tools::CommandEnv;

    async fn composed(words: &[&str], piped: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a.txt"), "one\ntwo\n").expect("a file");
        fs::write(folder.path().join("b.bin"), [0, 159, 146, 150, 0]).expect("a file");
        fs::write(folder.path().join("two words.txt"), "x").expect("a file");
        fs::create_dir(folder.path().join("home")).expect("a folder");
        fs::write(folder.path().join("home").join("h.txt"), "at home\n").expect("a file");
        let home = folder.path().join("home").into_os_string();
        let ctx = ToolContext::new(folder.path(), folder.path(), CommandEnv::new([("HOME".into(), home)]));
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        match join_words(&words, piped.to_owned(), &ctx).await {
            Ok(prompt) if prompt.files.is_empty() => prompt.text,
            Ok(prompt) => format!("{} + {}", prompt.text, prompt.files.join(" + ")),
            Err(error) => format!("! {error}"),
        }
    }

    #[tokio::test]
    async fn words_are_joined_and_piped_input_goes_first() {
        assert_eq!(composed(&["explain", "this"], "").await, "explain this");
        assert_eq!(composed(&["explain", "this"], "x = 1").await, "x = 1\n\nexplain this");
        assert_eq!(composed(&["before", "-", "and", "after"], "x = 1").await, "before\n\nx = 1\n\nand after");
        assert_eq!(composed(&[], "only this").await, "only this");
    }

    #[tokio::test]
    async fn files_are_found_anywhere_in_the_words() {
        assert_eq!(composed(&["explain", "@a.txt", "please"], "").await, "explain @a.txt please + a.txt");
        assert_eq!(composed(&["explain @a.txt, please"], "").await, "explain @a.txt, please + a.txt,");
        assert_eq!(composed(&["@a.txt is short"], "").await, "@a.txt is short + a.txt");
        assert_eq!(composed(&["@~/h.txt"], "").await, "@~/h.txt + ~/h.txt");
        assert_eq!(composed(&["@two words.txt"], "").await, "@two words.txt + two words.txt");
        assert_eq!(
            composed(&["explain"], "see @a.txt").await,
            "see @a.txt\n\nexplain",
            "piped input attaches no files"
        );
    }

    #[tokio::test]
    async fn missing_and_binary_files_are_refused_by_name() {
        assert!(composed(&["@none.txt"], "").await.starts_with("! @none.txt: "));
        assert!(composed(&["@b.bin"], "").await.starts_with("! @b.bin: "));
        assert_eq!(composed(&["write", "to", "@"], "").await, "write to @");
    }
}
