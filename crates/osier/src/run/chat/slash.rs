//! The commands of the chat: what one types behind a `/`.

use anyhow::{Result, bail};
use osier_agent::{Client, Command, Prompts, Said, When};
use osier_model::ThinkingLevel;
use osier_tools::Mode;
use osier_tree::projection::preview::{inert, one_line};

use super::{Chat, Then, going};
use crate::layout::{count, left, plain};
use crate::run::choice::{self, Choice};
use crate::run::nearest::nearest;
use crate::run::picker;

/// Name, arguments, and what it does.
const ALL: [(&str, &str, &str); 19] = [
    ("help", "", "this list"),
    ("model", "[NAME]", "show or change the model; `osier models` lists them"),
    ("thinking", "LEVEL", "off, minimal, low, medium, high, xhigh or max"),
    ("approval", "MODE", "what may happen without asking: default, autoEdit or yolo"),
    ("name", "[TEXT]", "show the name of the session, or change it"),
    ("label", "[TEXT]", "label the last entry, or take its label away"),
    ("session", "", "which session this is, and what it took"),
    ("tree", "[ENTRY]", "draw the tree; with a number, an id or `root`, go there"),
    ("undo", "", "go back to where the session stood before the last move"),
    ("redo", "", "go forward again"),
    ("fork", "[N]", "list what you said; with a number, begin a new session before it"),
    ("branch", "", "go on in a new session with a copy of the path"),
    ("compact", "[FOCUS]", "let a summary stand for the older part of the conversation"),
    ("compaction", "[undo]", "what the last one dropped; `undo` goes to before it"),
    ("compare", "ENTRY [ENTRY]", "two branches side by side"),
    ("graft", "ENTRY", "bring what came of another branch here"),
    ("new", "", "begin a new session"),
    ("resume", "[ID]", "go on with another session"),
    ("quit", "", "leave; Ctrl-D does it too"),
];

const KEYS: &str = "\
Whatever else you type is said to the model. While it works it hears you before its next step; with > before it, when
it is done. !COMMAND runs a command that the model gets to see, !!COMMAND one that it does not. Ctrl-C stops the turn.";

/// Carries out a line that begins with a slash.
pub(super) async fn run(chat: &mut Chat, line: &str) -> Result<Then> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match word {
        "help" => chat.show(&help(&chat.desk.prompts())),
        "model" => model(chat, rest).await?,
        "thinking" => thinking(chat, rest).await?,
        "approval" => approval(chat, rest).await?,
        "name" => name(chat, rest).await?,
        "label" => label(chat, rest).await?,
        "session" => session(chat).await?,
        "tree" => going::tree(chat, rest).await?,
        "undo" => going::walk(chat, Command::Undo)?,
        "redo" => going::walk(chat, Command::Redo)?,
        "fork" => return going::fork(chat, rest).await,
        "branch" | "clone" => return going::branch(chat).await,
        "compact" => going::compact(chat, rest).await?,
        "compaction" => going::compaction(chat, rest).await?,
        "compare" => going::compare(chat, rest).await?,
        "graft" => going::graft(chat, rest)?,
        "new" => return Ok(Then::Go(Choice::New { kept: !chat.desk.args.no_session }, None)),
        "resume" => return resume(chat, rest).await,
        "quit" | "exit" => return Ok(Then::Leave),
        // A template or a skill: what it stands for is said.
        _ if chat.desk.prompts().expand(&format!("/{line}"))?.is_some() => {
            chat.say(Said::text(format!("/{line}")), When::Steer).await?;
        }
        word => {
            let near = nearest(word, ALL.iter().map(|(name, ..)| *name));
            let near = near.map_or(String::new(), |near| format!("; did you mean /{near}?"));
            bail!("no command /{}{near} /help lists them", inert(word));
        }
    }
    Ok(Then::Stay)
}

fn help(prompts: &Prompts) -> String {
    let row = |name: &str, what: &str| format!("  {} {}\n", left(name, 23), one_line(what, 200));
    let (templates, skills, problems) = prompts.find();
    let mut text: String =
        ALL.iter().map(|(name, rest, what)| row(&format!("/{name} {rest}"), what)).collect();
    text.extend(templates.iter().map(|template| row(&format!("/{}", template.name), &template.description)));
    text.extend(skills.iter().map(|skill| row(&format!("/skill:{}", skill.name), &skill.description)));
    text.extend(problems.iter().map(|problem| format!("  {problem}\n")));
    text + KEYS
}

async fn model(chat: &mut Chat, name: &str) -> Result<()> {
    if name.is_empty() {
        let known = chat.model().await?;
        chat.show(&format!("{known}; /model NAME changes it"));
        return Ok(());
    }
    chat.open().await?.worker.send(Command::SetModel(name.to_owned())).await?;
    Ok(())
}

async fn thinking(chat: &mut Chat, level: &str) -> Result<()> {
    let Some(level) = ThinkingLevel::parse(level) else {
        bail!("/thinking takes one of {}", ThinkingLevel::ALL.map(ThinkingLevel::name).join(", "));
    };
    chat.open().await?.worker.send(Command::SetThinking(level)).await?;
    Ok(())
}

async fn approval(chat: &mut Chat, mode: &str) -> Result<()> {
    let Some(mode) = Mode::named(mode) else {
        bail!("/approval takes one of {}", Mode::ALL.map(Mode::name).join(", "));
    };
    chat.open().await?.worker.send(Command::SetApproval(mode)).await?;
    chat.show(&format!("approval: {}", mode.name()));
    Ok(())
}

async fn name(chat: &mut Chat, name: &str) -> Result<()> {
    let session = chat.open().await?.session.clone();
    if !name.is_empty() {
        session.rename(name).await?;
    }
    let tree = session.tree();
    chat.show(tree.marks().name().unwrap_or("it has no name"));
    Ok(())
}

async fn label(chat: &mut Chat, label: &str) -> Result<()> {
    let session = chat.there()?.session.clone();
    let tree = session.tree();
    let Some(last) = tree.heads().anchor(session.main().place()) else {
        bail!("there is no entry to label yet");
    };
    let id = tree.id(last).to_string();
    session.label(&id, Some(label).filter(|label| !label.is_empty())).await?;
    chat.show(&match label {
        "" => format!("{id} has no label now"),
        label => format!("{id}  {label}"),
    });
    Ok(())
}

async fn session(chat: &mut Chat) -> Result<()> {
    let session = chat.there()?.session.clone();
    let card = session.store().card(session.key()).await?;
    let file = session.file().map_or("not kept".to_owned(), |file| plain(&file.to_string_lossy()));
    let model = chat.model().await?;
    let rows = [
        ("session", plain(&card.id)),
        ("file", file),
        ("name", card.name.as_deref().map_or("none".to_owned(), plain)),
        ("model", model),
        (
            "messages",
            format!("{}, on {}", card.message_count, count(card.branches as usize, "branch", "branches")),
        ),
        ("tokens", format!("{} for ${:.4}", card.tokens, card.cost)),
    ];
    let rows = rows.map(|(key, value)| format!("  {} {value}", left(key, 9)));
    chat.show(&rows.join("\n"));
    Ok(())
}

async fn resume(chat: &mut Chat, id: &str) -> Result<Then> {
    if !id.is_empty() {
        return Ok(Then::Go(choice::by_word(id, &chat.desk.home).await?, None));
    }
    let cards = choice::cards(&chat.desk.home).await?;
    match picker::rows(&cards, &chat.desk.home) {
        rows if rows.is_empty() => chat.show("there is no other session in this directory"),
        rows => chat.show(&format!("{}\n/resume ID goes on with one of them", rows.join("\n"))),
    }
    Ok(Then::Stay)
}
