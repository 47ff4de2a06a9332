//! What is said first: the words of the command line, the files they name, and what standard input holds.

use std::io::{IsTerminal, Read};

use anyhow::{Context, Result};
use osier_agent::{Prompt, attachments};
use osier_tools::ToolContext;

use crate::failure::usage_error;
use crate::progress::show_progress;

/// The most that is read from standard input.
const LONGEST: u64 = 1 << 20;

/// The prompt made of `words`. What is piped in stands before them, or where a `-` is.
pub(super) async fn compose(words: &[String], ctx: &ToolContext) -> Result<Prompt> {
    let piped = match words.iter().any(|word| word == "-") || !std::io::stdin().is_terminal() {
        true => piped()?,
        false => String::new(),
    };
    put_together(words, piped, ctx).await
}

async fn put_together(words: &[String], piped: String, ctx: &ToolContext) -> Result<Prompt> {
    let mut said = Prompt::default();
    let mut parts: Vec<String> = Vec::new();
    let (mut spoken, mut piped) = (Vec::new(), Some(piped));
    for word in words {
        said.files.extend(files_in(word, ctx).await?);
        match word.as_str() {
            "-" => {
                parts.push(std::mem::take(&mut spoken).join(" "));
                parts.extend(piped.take());
            }
            word => spoken.push(word),
        }
    }
    parts.splice(0..0, piped.take());
    parts.push(spoken.join(" "));
    parts.retain(|part| !part.trim().is_empty());
    said.text = parts.join("\n\n");
    Ok(said)
}

/// The files that a word of the command line names. A word that is nothing but a name must name one.
async fn files_in(word: &str, ctx: &ToolContext) -> Result<Vec<String>> {
    let read = async |name: &str| attachments::read(name, ctx).await.map_err(usage_error);
    match word.strip_prefix('@').filter(|name| !name.is_empty()) {
        // A name with blanks in it is possible only here.
        Some(name) if read(name).await?.is_some() => Ok(vec![name.to_owned()]),
        Some(name) if !name.contains(char::is_whitespace) => {
            Err(usage_error(format!("@{name}: there is no such file")))
        }
        _ => {
            let names = attachments::mentions(word);
            for name in &names {
                read(name).await?;
            }
            Ok(names)
        }
    }
}

fn piped() -> Result<String> {
    let _waiting = show_progress("reading standard input");
    let mut bytes = Vec::new();
    std::io::stdin().take(LONGEST + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
    if bytes.len() as u64 > LONGEST {
        return Err(usage_error(
            "standard input is longer than 1 MiB; put it into a file and name it in the prompt",
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use osier_tools::Env;

    async fn told(words: &[&str], piped: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a.txt"), "one\ntwo\n").expect("a file");
        fs::write(folder.path().join("b.bin"), [0, 159, 146, 150, 0]).expect("a file");
        fs::write(folder.path().join("two words.txt"), "x").expect("a file");
        fs::create_dir(folder.path().join("home")).expect("a folder");
        fs::write(folder.path().join("home").join("h.txt"), "at home\n").expect("a file");
        let home = folder.path().join("home").into_os_string();
        let ctx = ToolContext::new(folder.path(), folder.path(), Env::new([("HOME".into(), home)]));
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        match put_together(&words, piped.to_owned(), &ctx).await {
            Ok(said) if said.files.is_empty() => said.text,
            Ok(said) => format!("{} + {}", said.text, said.files.join(" + ")),
            Err(error) => format!("! {error}"),
        }
    }

    #[tokio::test]
    async fn words_are_a_sentence_and_a_pipe_stands_before_them() {
        assert_eq!(told(&["explain", "this"], "").await, "explain this");
        assert_eq!(told(&["explain", "this"], "x = 1").await, "x = 1\n\nexplain this");
        assert_eq!(told(&["before", "-", "and", "after"], "x = 1").await, "before\n\nx = 1\n\nand after");
        assert_eq!(told(&[], "only this").await, "only this");
    }

    #[tokio::test]
    async fn words_name_files_wherever_they_stand() {
        assert_eq!(told(&["explain", "@a.txt", "please"], "").await, "explain @a.txt please + a.txt");
        assert_eq!(told(&["explain @a.txt, please"], "").await, "explain @a.txt, please + a.txt,");
        assert_eq!(told(&["@a.txt is short"], "").await, "@a.txt is short + a.txt");
        assert_eq!(told(&["@~/h.txt"], "").await, "@~/h.txt + ~/h.txt");
        assert_eq!(told(&["@two words.txt"], "").await, "@two words.txt + two words.txt");
        assert_eq!(told(&["explain"], "see @a.txt").await, "see @a.txt\n\nexplain", "a pipe names none");
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_said_is_refused_by_name() {
        assert!(told(&["@none.txt"], "").await.starts_with("! @none.txt: "));
        assert!(told(&["@b.bin"], "").await.starts_with("! @b.bin: "));
        assert_eq!(told(&["write", "to", "@"], "").await, "write to @");
    }
}
